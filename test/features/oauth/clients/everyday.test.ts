// engine: none
import t from 'tap'
import { press } from '../../../support/account-pages.ts'
import { buildTestApp, type TestApp } from '../../../support/app.ts'
import { day, second } from '../../../support/clock.ts'
import { basic, codeFlow, oauthSettings, Person, post, refresh, secret, token } from '../../../support/oauth.ts'
import { credentials } from '../../../support/plain.ts'
import { stopTime } from '../../../support/time.ts'

const form = 'application/x-www-form-urlencoded'

t.test('accepts several spaces behind Bearer, on every route', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = await svc.createUser()
  const api = await svc.createToken(ada)
  const { access_token } = await codeFlow(svc, new Person(svc, ada.email), 'web', { scope: 'openid' })
  for (const space of [' ', '  ', '     ']) {
    const at = async (url: string, bearer: string) =>
      (await svc.app.inject({ url, headers: { authorization: `Bearer${space}${bearer}` } })).statusCode
    t.equal(await at('/api/user', api), 200, `API token after ${space.length}`)
    t.equal(await at('/api/user', access_token), 200, `JWT after ${space.length}`)
    t.equal(await at('/oauth/userinfo', access_token), 200, `UserInfo after ${space.length}`)
  }
})

t.test('ignores spaces at the ends of scope', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const person = new Person(svc, (await svc.createUser()).email)
  const machine = await token(svc, 'machine', { grant_type: 'client_credentials', scope: ' orders:read ' })
  t.match(machine.json(), { scope: 'orders:read' })
  const tokens = await codeFlow(svc, person, 'web', { scope: ' openid orders:read  ' })
  t.equal(tokens.scope, 'openid orders:read')
  const again = await refresh(svc, 'web', tokens.refresh_token, { scope: ' openid ' })
  t.match(again.json(), { scope: 'openid' })
})

const origin = 'https://spa.example'

t.test('lets pages of a client read responses with credentials, and every error', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const send = (payload: string, headers: Record<string, string> = {}) =>
    svc.app.inject({
      method: 'POST',
      url: '/oauth/token',
      payload,
      headers: { 'content-type': form, origin, ...headers },
    })
  const refused = await send('grant_type=refresh_token&refresh_token=x&client_id=spa')
  const readable = { 'access-control-allow-origin': origin, 'access-control-allow-credentials': 'true' }
  t.match(refused.headers, readable)
  t.notMatch(refused.headers['access-control-expose-headers'], /^,|, *,/, 'no empty element')
  for (const [payload, type] of [
    ['{', 'application/json'],
    ['x'.repeat(60_000), form],
    ['x', 'text/plain'],
  ] as const) {
    const answer = await send(payload, { 'content-type': type })
    t.equal(answer.statusCode, 400)
    t.match(answer.headers, readable, type)
    const other = await send(payload, { 'content-type': type, origin: 'https://evil.example' })
    t.equal(other.headers['access-control-allow-credentials'], undefined)
  }
  const evil = await send('grant_type=refresh_token&refresh_token=x&client_id=spa', { origin: 'https://evil.example' })
  t.equal(evil.headers['access-control-allow-credentials'], undefined)
  t.equal(evil.headers['access-control-allow-origin'], undefined)
  const programs = await token(svc, 'machine', { grant_type: 'client_credentials' })
  t.equal(programs.headers['access-control-allow-credentials'], undefined)
})

t.test('accepts polls of a device half a second before the interval', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const device = (await post(svc, '/oauth/device/code', 'tv', { scope: 'openid' })).json()
  const poll = async () => {
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
    return (await token(svc, 'tv', { grant_type, device_code: device.device_code })).json().error
  }
  t.equal(await poll(), 'authorization_pending')
  for (let round = 0; round < 4; round++) {
    svc.clock.advance(device.interval * second - 500)
    t.equal(await poll(), 'authorization_pending', `poll ${round}`)
  }
  svc.clock.advance(device.interval * second - 600)
  t.equal(await poll(), 'slow_down')
})

t.test('knows no other spelling of a token', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const ada = await svc.createUser()
  const { access_token, refresh_token } = await codeFlow(svc, new Person(svc, ada.email), 'web', { scope: 'openid' })
  for (const value of [access_token, refresh_token]) {
    for (const sign of ['~', '%00', ' ', '%7E']) {
      const url = `/oauth/userinfo`
      const authorization = `Bearer ${sign === '%00' ? '' : decodeURIComponent(sign)}${value}x`
      t.equal((await svc.app.inject({ url, headers: { authorization } })).statusCode, 401)
      await svc.app.inject({
        method: 'POST',
        url: '/oauth/revoke',
        headers: { 'content-type': form, ...basic('web') },
        payload: `token=${sign}${value}`,
      })
    }
  }
  t.equal((await svc.bearer(access_token, 'GET', '/oauth/userinfo')).statusCode, 200, 'none of them was revoked')
  t.equal(
    (await svc.app.inject({ url: '/oauth/userinfo', headers: { authorization: `Bearer ~${access_token}` } }))
      .statusCode,
    401,
  )
  t.equal((await refresh(svc, 'web', refresh_token)).statusCode, 200)
})

/** The advice of the last refusal in the log. */
const adviceIn = ({ logs }: TestApp): string =>
  logs.map((line) => JSON.parse(line)).findLast(({ msg }) => /^OAuth request refused/.test(msg))?.msg

t.test('logs why it refused a refresh token', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const { email } = await svc.createUser()
  const flow = () => codeFlow(svc, new Person(svc, email), 'web', { scope: 'openid' })
  const causeOf = async (value: string, client = 'web') => {
    t.match((await refresh(svc, client, value)).json(), { error: 'invalid_grant' })
    return adviceIn(svc)
  }
  t.match(await causeOf('unknown'), /it was revoked, or svc never issued it/)
  const used = await flow()
  await refresh(svc, 'web', used.refresh_token)
  svc.clock.advance(60 * second)
  t.match(await causeOf(used.refresh_token), /it was used before, so svc revoked its grant/)
  t.match(await causeOf((await flow()).refresh_token, 'other'), /it belongs to another client/)
  const person = new Person(svc, email)
  const ended = await codeFlow(svc, person, 'web', { scope: 'openid' })
  await press(person.plain, '/account', '/oauth/sign-out')
  t.match(await causeOf(ended.refresh_token), /its session has ended|it was revoked/)
  const old = await flow()
  svc.clock.advance(31 * day)
  t.match(await causeOf(old.refresh_token), /it has expired/)
})

const bye = 'https://shop.example/bye'

t.test('signs out without a page if the client may skip it and proves the session', async (t) => {
  const registered = (skip: boolean | null) => ({
    client_id: skip === null ? 'default' : skip ? 'skips' : 'asks',
    type: 'confidential',
    secret,
    redirect_uris: ['https://shop.example/cb'],
    post_logout_redirect_uris: [bye],
    grants: ['authorization_code', 'refresh_token'],
    first_party: true,
    ...(skip === null ? {} : { skip_logout_confirmation: skip }),
  })
  const clients = [registered(true), registered(false), registered(null)]
  const svc = await buildTestApp(t, { settings: { clients }, clock: stopTime(t) })
  const { email } = await svc.createUser()
  const tokensOf = async (person: Person, client: string) => {
    const query = { client_id: client, response_type: 'code', redirect_uri: 'https://shop.example/cb', scope: 'openid' }
    const stop = await person.decide(await person.authorize(query))
    const code = stop.out?.searchParams.get('code') ?? ''
    const fields = { grant_type: 'authorization_code', code, redirect_uri: query.redirect_uri }
    return (await token(svc, client, fields)).json()
  }
  const logout = async (person: Person, query: Record<string, string>) =>
    person.go(`/oauth/logout?${new URLSearchParams(query)}`)
  const ada = new Person(svc, email)
  const { id_token } = await tokensOf(ada, 'skips')
  const whole = { id_token_hint: id_token, post_logout_redirect_uri: bye, state: 'a b' }

  t.equal((await logout(ada, { post_logout_redirect_uri: bye, client_id: 'skips' })).page, 'Sign out', 'no hint')
  t.equal((await logout(ada, { id_token_hint: id_token })).page, 'Sign out', 'no address to continue to')
  const asks = await tokensOf(ada, 'asks')
  t.equal((await logout(ada, { ...whole, id_token_hint: asks.id_token })).page, 'Sign out', 'a client that asks')
  const plain = await tokensOf(ada, 'default')
  t.equal((await logout(ada, { ...whole, id_token_hint: plain.id_token })).page, 'Sign out', 'off by default')
  const bob = new Person(svc, (await svc.createUser()).email)
  await tokensOf(bob, 'skips')
  t.equal((await logout(bob, whole)).page, 'Sign out', 'the token of another user')

  const done = await logout(ada, whole)
  t.equal(done.out?.href, `${bye}?state=a+b`)
  t.equal(await ada.plain.user(), null)
  t.equal(
    (
      await ada.authorize({
        client_id: 'skips',
        response_type: 'code',
        redirect_uri: 'https://shop.example/cb',
        scope: 'openid',
      })
    ).page,
    'Sign in',
  )

  svc.clock.advance(60 * second)
  await ada.plain.send('/oauth/login', credentials(email))
  await tokensOf(ada, 'skips')
  t.equal((await logout(ada, whole)).page, 'Sign out', 'the token of an earlier session')
})

t.test('accepts a client that only introspects without a grant', async (t) => {
  const clients = [{ client_id: 'watcher', type: 'confidential', secret, introspect: true, grants: [] }]
  const svc = await buildTestApp(t, { settings: { clients }, clock: stopTime(t) })
  const api = await svc.createToken(await svc.createUser())
  const answer = await post(svc, '/oauth/introspect', 'watcher', { token: api })
  t.match(answer.json(), { active: true })
  const refused = await token(svc, 'watcher', { grant_type: 'client_credentials' })
  t.match(refused.json(), { error: 'unauthorized_client' })
})
