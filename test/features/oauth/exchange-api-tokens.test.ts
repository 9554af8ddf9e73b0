// engine: none
import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose'
import t, { type Test } from 'tap'
import { buildTestApp, type Settings, type TestApp } from '../../support/app.ts'
import { minute } from '../../support/clock.ts'
import { basic, secret } from '../../support/oauth.ts'
import { stopTime, travel } from '../../support/time.ts'
import { apis, bills, orders, stock, svcAudience } from './apis/setup.ts'

const accessToken = 'urn:ietf:params:oauth:token-type:access_token'
const grant_type = 'urn:ietf:params:oauth:grant-type:token-exchange'

const exchanging = (client_id: string, exchange: string[], more: object = {}) => ({
  client_id,
  type: 'confidential',
  secret,
  grants: ['token_exchange'],
  exchange,
  scopes: ['orders:read', 'orders:write', 'stock:read', 'view-tasks', 'roles'],
  ...more,
})

const clients = () => [
  exchanging('gateway', ['svc-api-tokens']),
  exchanging('reader', ['svc-api-tokens'], { scopes: ['orders:read'] }),
  exchanging('closed', ['svc-first-party', 'svc-personal', 'gateway']),
  exchanging('next', ['gateway', 'next']),
  { client_id: 'watcher', type: 'confidential', secret, introspect: true, grants: ['client_credentials'] },
]

const build = (t: Test, more: Settings = {}) =>
  buildTestApp(t, {
    settings: { scopes: { 'view-tasks': 'See your tasks' }, apis, clients: clients(), ...more },
    clock: stopTime(t),
  })

type Fields = Record<string, string>

const post = ({ app }: TestApp, client: string, fields: Fields, path = '/oauth/token') =>
  app.inject({ method: 'POST', url: path, headers: basic(client), payload: fields })

const exchange = (svc: TestApp, subject_token: string, more: Fields = { resource: orders }, client = 'gateway') =>
  post(svc, client, { grant_type, subject_token, subject_token_type: accessToken, ...more })

const exchanged = async (...args: Parameters<typeof exchange>): Promise<string> =>
  (await exchange(...args)).json().access_token

const isActive = async (svc: TestApp, token: string): Promise<boolean> =>
  (await post(svc, 'watcher', { token }, '/oauth/introspect')).json().active

const invalid = { error: 'invalid_request', error_description: 'subject_token is invalid' }

t.test('exchanges an API token for an access token of one API', async (t) => {
  const svc = await build(t)
  const ada = await svc.createUser()
  const text = await svc.createToken(ada, { abilities: ['orders:read', 'stock:read', 'other'] })
  const answer = await exchange(svc, text)
  t.equal(answer.statusCode, 200, answer.body)
  const { access_token, ...rest } = answer.json()
  t.strictSame(rest, { token_type: 'Bearer', issued_token_type: accessToken, scope: 'orders:read', expires_in: 600 })
  const jwks = createLocalJWKSet((await svc.app.inject('/.well-known/jwks.json')).json())
  const { payload } = await jwtVerify(access_token, jwks, { issuer: svcAudience, audience: orders, typ: 'at+jwt' })
  t.match(payload, { sub: String(ada.id), client_id: 'gateway', scope: 'orders:read', scopes: ['orders:read'] })
  t.notOk('acr' in payload || 'auth_time' in payload, 'an API token proves no sign-in')
  t.match((await post(svc, 'watcher', { token: access_token }, '/oauth/introspect')).json(), {
    active: true,
    client_id: 'gateway',
    aud: orders,
  })
  t.equal((await svc.bearer(access_token, 'GET', '/api/user')).statusCode, 401, 'it is for another API')
  for (const target of [{ audience: orders }, { audience: 'orders' }, { audience: orders, resource: orders }]) {
    t.equal(decodeJwt(await exchanged(svc, text, target)).aud, orders, JSON.stringify(target))
  }
  t.equal(decodeJwt(await exchanged(svc, text, { scope: 'stock:read' })).aud, stock, 'chosen by its scope')
  t.notOk(svc.logs.join().includes(text) || svc.logs.join().includes(access_token))
})

t.test('narrows the scopes to the abilities, the client and the API', async (t) => {
  const svc = await build(t)
  const ada = await svc.createUser()
  const scopeOf = async (abilities: string[], more: Fields = { resource: orders }, client = 'gateway') =>
    (await exchange(svc, await svc.createToken(ada, { abilities }), more, client)).json().scope
  t.equal(await scopeOf(['*']), 'orders:read orders:write', '* is every scope of the API')
  t.equal(await scopeOf(['*'], { resource: orders, scope: 'orders:write' }), 'orders:write')
  t.equal(await scopeOf(['*'], { resource: orders }, 'reader'), 'orders:read', 'that the client lists')
  t.equal(await scopeOf(['orders:write', 'stock:read']), 'orders:write')
  t.equal(await scopeOf(['*'], { audience: svcAudience }), 'view-tasks', "svc's own API")
  for (const abilities of [
    [],
    ['stock:read'],
    ['orders:*'],
    ['orders'],
    ['orders:read orders:write'],
    ['ORDERS:READ'],
  ]) {
    t.equal(await scopeOf(abilities), undefined, JSON.stringify(abilities))
  }

  const narrow = await svc.createToken(ada, {
    abilities: ['orders:read', 'openid', 'roles', 'email', 'offline_access'],
  })
  for (const scope of ['orders:write', 'orders:read orders:write', 'openid', 'roles', 'email', 'offline_access']) {
    const answer = await exchange(svc, narrow, { resource: orders, scope })
    t.equal(answer.statusCode, 400, scope)
    t.match(answer.json(), { error: 'invalid_scope' })
  }
  const full = await svc.createToken(ada)
  const targets = [{ resource: bills }, { resource: 'https://evil.example' }, { audience: '*' }, { audience: 'bills' }]
  for (const fields of [...targets, {}, { scope: 'orders:read stock:read' }, { resource: orders, audience: stock }]) {
    const answer = await exchange(svc, full, fields)
    t.equal(answer.statusCode, 400, JSON.stringify(fields))
    t.match(answer.json(), { error: 'invalid_target' })
  }
})

t.test('exchanges API tokens only for clients that list svc-api-tokens', async (t) => {
  const svc = await build(t)
  const ada = await svc.createUser()
  const text = await svc.createToken(ada)
  t.same((await exchange(svc, text, { resource: orders }, 'closed')).json(), invalid)
  t.match((await exchange(svc, text, { resource: orders }, 'watcher')).json(), { error: 'unauthorized_client' })
  const expired = await svc.createToken(ada, { expiresAt: new Date(svc.clock.now()) })
  const ending = await svc.createToken(ada, { expiresAt: new Date(Math.ceil(svc.clock.now() / 1000) * 1000 - 1) })
  const browser = svc.browser()
  await browser.signIn(ada.email)
  const fresh = (await browser.post('/oauth/token/fresh')).json().access_token
  const session = (await browser.cookie('svc_session')) ?? ''
  t.ok(session !== '')
  const [id = ''] = text.split('|')
  const bad = [
    expired,
    ending,
    fresh,
    session,
    decodeURIComponent(session),
    `${text}x`,
    `999999|x`,
    `${id}|`,
    id,
    '|',
    '\0',
  ]
  for (const subject of bad) t.same((await exchange(svc, subject)).json(), invalid, subject)
})

t.test('ends the access token with its API token', async (t) => {
  const svc = await build(t, { expiration: '60m' })
  const { prisma } = svc.database
  const ada = await svc.createUser()
  const ends: [string, (text: string) => Promise<unknown>][] = [
    ['revoked', (text) => svc.bearer(text, 'DELETE', '/api/tokens/current')],
    ['pruned', (text) => prisma.personalAccessToken.delete({ where: { id: BigInt(text.split('|')[0] ?? '') } })],
    [
      'of a disabled user',
      () => prisma.user.update({ where: { id: BigInt(ada.id) }, data: { disabledAt: new Date() } }),
    ],
  ]
  for (const [how, end] of ends) {
    const [text, other] = [await svc.createToken(ada), await svc.createToken(ada)]
    const own = await exchanged(svc, text, { audience: svcAudience })
    const [jwt, bystander] = [await exchanged(svc, text), await exchanged(svc, other)]
    const chained = await exchanged(svc, jwt, { resource: orders }, 'next')
    const all = [jwt, own, chained]
    for (const token of all) t.equal(await isActive(svc, token), true, `${how}: before`)
    t.equal((await svc.bearer(own, 'GET', '/api/task')).statusCode, 200)
    await end(text)
    for (const token of all) t.equal(await isActive(svc, token), false, `${how}: after`)
    t.equal((await svc.bearer(own, 'GET', '/api/task')).statusCode, 401)
    t.equal(await isActive(svc, bystander), how !== 'of a disabled user', 'another token of the user')
  }
  await prisma.user.update({ where: { id: BigInt(ada.id) }, data: { disabledAt: null } })

  const text = await svc.createToken(ada, { expiresAt: new Date(svc.clock.now() + 5 * minute) })
  const answer = (await exchange(svc, text)).json()
  t.equal(answer.expires_in, 300, 'its lifetime ends with the API token')
  travel(svc, 5 * minute)
  t.equal(await isActive(svc, answer.access_token), false)
  const aged = await svc.createToken(ada)
  travel(svc, 57 * minute)
  t.equal((await exchange(svc, aged)).json().expires_in, 180, 'also by the configured expiration')
})

t.test("returns invalid_grant for a user who may not use svc's APIs", async (t) => {
  const svc = await build(t, { registration: { require_verified_email: true } })
  const ada = await svc.createUser({ verified: false })
  const text = await svc.createToken(ada)
  const unverified = await exchange(svc, text)
  t.equal(unverified.statusCode, 400)
  t.match(unverified.json(), { error: 'invalid_grant', error_description: /not verified/ })
  const where = { id: BigInt(ada.id) }
  await svc.database.prisma.user.update({ where, data: { emailVerifiedAt: new Date(), disabledAt: new Date() } })
  const disabled = await exchange(svc, text)
  t.equal(disabled.statusCode, 400)
  t.match(disabled.json(), { error: 'invalid_grant', error_description: /disabled/ })
  t.same((await exchange(svc, `${text}x`)).json(), invalid, 'a wrong secret says nothing about the user')
})

t.test('ends every token of a chain with the first, and limits its length', async (t) => {
  const svc = await build(t)
  const ada = await svc.createUser()
  const first = await exchanged(svc, await svc.createToken(ada))
  const chain = [first]
  for (let n = 0; n < 5; n++) chain.push(await exchanged(svc, chain.at(-1) ?? '', { resource: orders }, 'next'))
  for (const token of chain) t.equal(await isActive(svc, token), true)
  t.match((await exchange(svc, chain.at(-1) ?? '', { resource: orders }, 'next')).json(), {
    error: 'invalid_request',
    error_description: /5 exchanges/,
  })
  const reader = await exchanged(svc, await svc.createToken(ada, { abilities: ['orders:read'] }))
  const wider = await exchange(svc, reader, { resource: orders, scope: 'orders:write' }, 'next')
  t.match(wider.json(), { error: 'invalid_scope' }, 'a chain does not widen the scopes')
  t.equal((await post(svc, 'gateway', { token: first }, '/oauth/revoke')).statusCode, 200)
  for (const [index, token] of chain.entries()) t.equal(await isActive(svc, token), false, `token ${index}`)
})
