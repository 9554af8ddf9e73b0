import { randomBytes } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import t from 'tap'
import { buildTestApp, type Settings, type TestApp } from '../../../support/app.ts'
import { minute } from '../../../support/clock.ts'
import { basic, callback, clients, oauthSettings, Person, request, response } from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'

const build = (t: Parameters<typeof buildTestApp>[0], rate_limits: Settings): Promise<TestApp> => {
  const more = [
    { client_id: 'watch', type: 'public', grants: ['device_code'] },
    { client_id: 'console', type: 'confidential', secret: 'a-secret-that-is-long-enough', grants: ['device_code'] },
  ]
  const settings = { ...oauthSettings, clients: [...clients, ...more], rate_limits }
  return buildTestApp(t, { settings, clock: stopTime(t) })
}

type Send = (svc: TestApp, remoteAddress?: string) => Promise<LightMyRequestResponse>

const form = (url: string, fields: Record<string, string>, headers = {}): Send => {
  const payload = new URLSearchParams(fields).toString()
  const type = { 'content-type': 'application/x-www-form-urlencoded', ...headers }
  return ({ app }, remoteAddress = '192.0.2.1') =>
    app.inject({ method: 'POST', url, headers: type, payload, remoteAddress })
}

const page =
  (url: string): Send =>
  ({ app }, remoteAddress = '192.0.2.1') =>
    app.inject({ url, remoteAddress, headers: { accept: 'text/html', 'sec-fetch-mode': 'navigate' } })

/** Incompressible, so that it does not fit into a cookie. */
const long = randomBytes(2_000).toString('base64url')

/** Requests of anonymous senders that store something until a user signs in. */
const ways: Record<string, Send> = {
  'a long authorization request': page(`/oauth/authorize?${new URLSearchParams(request('web', { state: long }))}`),
  'a long sign-out request': page(`/oauth/logout?${new URLSearchParams({ state: long })}`),
  'a device code of a public client': form('/oauth/device/code', { client_id: 'tv' }),
  'a pushed request of a public client': form('/oauth/par', request('spa', { redirect_uri: 'https://spa.example/cb' })),
}

const rows = ({ database: { prisma } }: TestApp) => prisma.oauthRecord.count()

for (const [name, send] of Object.entries(ways)) {
  t.test(`${name} is limited by address`, async (t) => {
    const svc = await build(t, { authorization: '3/10m' })
    const statuses: number[] = []
    for (let tries = 0; tries < 3; tries++) statuses.push((await send(svc)).statusCode)
    t.ok(
      statuses.every((status) => status < 400),
      statuses.join(),
    )
    const stored = await rows(svc)
    t.equal(stored, 3)
    const refused = await send(svc)
    t.equal(refused.statusCode, 429, refused.body)
    t.equal(refused.headers['retry-after'], '600')
    t.equal(refused.headers.location, undefined, 'redirects to no page')
    if (!/html/.test(String(refused.headers['content-type']))) {
      t.match(refused.json(), {
        error: 'temporarily_unavailable',
        error_description: /Too many authorization requests/,
      })
    }
    t.equal(await rows(svc), stored, 'stores nothing more')
    t.equal((await send(svc, '192.0.2.2')).statusCode, statuses[0], 'another address')
    svc.clock.advance(11 * minute)
    t.equal((await send(svc)).statusCode, statuses[0], 'later')
  })
}

t.test('counts an IPv6 network as one address', async (t) => {
  const svc = await build(t, { authorization: '2/10m' })
  const send = ways['a device code of a public client'] as Send
  for (const host of ['1', '2']) t.equal((await send(svc, `2001:db8::${host}`)).statusCode, 200)
  t.equal((await send(svc, '2001:db8::3')).statusCode, 429)
  t.equal((await send(svc, '2001:db8:0:1::3')).statusCode, 200)
})

t.test('stores no more than the limit of concurrent requests', async (t) => {
  const svc = await build(t, { authorization: '10/10m' })
  const send = ways['a device code of a public client'] as Send
  const answers = await Promise.all(Array.from({ length: 40 }, () => send(svc)))
  const statuses = answers.map(({ statusCode }) => statusCode)
  t.equal(statuses.filter((status) => status === 200).length, 10)
  t.equal(statuses.filter((status) => status === 429).length, 30)
  t.equal(await rows(svc), 10)
})

t.test('limits all addresses together, apart from signed-in users and confidential clients', async (t) => {
  const svc = await build(t, { authorization: '3/10m', authorization_total: '4/1h' })
  const send = ways['a long authorization request'] as Send
  const { email } = await svc.createUser()
  const person = new Person(svc, email)
  await person.signIn()
  for (const host of [1, 2, 3, 4]) t.equal((await send(svc, `192.0.2.${host}`)).statusCode, 303)
  t.equal((await send(svc, '192.0.2.5')).statusCode, 429)

  t.equal((await person.authorize(request('web'))).page, 'Authorize', 'a signed-in user')
  const headers = basic('web')
  const pushed = form('/oauth/par', { ...request('web'), redirect_uri: callback }, headers)
  for (let tries = 0; tries < 5; tries++) t.equal((await pushed(svc)).statusCode, 201, 'a confidential client')
  const device = form('/oauth/device/code', { scope: 'openid' }, basic('console'))
  for (let tries = 0; tries < 5; tries++) t.equal((await device(svc)).statusCode, 200)
})

const other = { ...request('app'), redirect_uri: 'com.example.app:/cb' }

/** The same requests for another client. */
const otherWays: Record<string, Send> = {
  'a long authorization request': page(`/oauth/authorize?${new URLSearchParams(request('own', { state: long }))}`),
  'a device code of a public client': form('/oauth/device/code', { client_id: 'watch' }),
  'a pushed request of a public client': form('/oauth/par', other),
}

for (const [name, sendOther] of Object.entries(otherWays)) {
  t.test(`${name}: a flood from many addresses stops only the client that it names`, async (t) => {
    const svc = await build(t, { authorization_total: '4/1h' })
    const send = ways[name] as Send
    const statuses = []
    for (let host = 1; host <= 8; host++) statuses.push((await send(svc, `192.0.2.${host}`)).statusCode)
    t.ok(
      statuses.slice(0, 4).every((status) => status < 400),
      statuses.join(),
    )
    t.strictSame(statuses.slice(4), [429, 429, 429, 429])
    for (let host = 101; host <= 104; host++) {
      t.equal((await sendOther(svc, `192.0.2.${host}`)).statusCode, statuses[0], 'another client')
    }
    t.equal((await sendOther(svc, '192.0.2.105')).statusCode, 429, 'which has the same limit')
  })
}

t.test('limits a signed-in user separately', async (t) => {
  const svc = await build(t, { authorization: '3/10m' })
  const [one, other] = [
    new Person(svc, (await svc.createUser()).email),
    new Person(svc, (await svc.createUser()).email),
  ]
  for (const person of [one, other]) await person.signIn()
  for (let tries = 0; tries < 3; tries++) t.equal((await one.authorize(request('web'))).page, 'Authorize')
  t.equal((await one.authorize(request('web'))).answer.statusCode, 429)
  t.equal((await other.authorize(request('web'))).page, 'Authorize')
  t.ok(response(await one.authorize(request('own', { scope: 'openid' }))).code, 'nothing waits for a user here')
})

t.test('turns both limits off with null', async (t) => {
  const svc = await build(t, { authorization: null, authorization_total: null })
  const send = ways['a long authorization request'] as Send
  for (let tries = 0; tries < 5; tries++) t.equal((await send(svc)).statusCode, 303)
  t.equal(await svc.database.prisma.loginLimit.count(), 0)
})
