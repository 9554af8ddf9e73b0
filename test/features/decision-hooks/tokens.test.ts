import { decodeJwt } from 'jose'
import t, { type Test } from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { hour } from '../../support/clock.ts'
import {
  callback,
  clients,
  codeFlow,
  exchangeClient,
  introspect,
  oauthSettings,
  Person,
  partner,
  passwordClient,
  post,
  redeem,
  refresh,
  request,
  response,
  token,
} from '../../support/oauth.ts'
import { stopTime, travel } from '../../support/time.ts'
import { until } from '../../support/until.ts'
import { hooked, type Service, startService } from './policy.ts'

const tier = (value: unknown) => () => ({ claims: { tier: value } })
const message = 'Your plan has no access to this API.'
const deny = () => ({ deny: { message } })

const orders = 'https://orders.example.com'

const build = (t: Test, service: Service, more: object = {}) =>
  buildTestApp(t, {
    settings: {
      ...oauthSettings,
      scopes: { 'orders:write': 'Change your orders', 'stock:read': 'See the stock' },
      apis: { orders: { audience: orders, scopes: ['orders:read'] } },
      clients: [...clients, passwordClient, exchangeClient, { ...partner('once'), grants: ['authorization_code'] }],
      ...hooked(service, { before_token: { claims: ['tier', 'regions'], ...more } }),
    },
    clock: stopTime(t),
  })

const exchange = (svc: TestApp, subject_token: string) =>
  token(svc, 'gateway', {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  })

t.test('adds claims to the tokens of a code and of a refresh, with one question each', async (t) => {
  const service = await startService(t)
  const svc = await build(t, service)
  const user = await svc.createUser()
  service.answer = tier('gold')
  const tokens = await codeFlow(svc, new Person(svc, user.email), 'web', { scope: 'openid orders:read' })
  t.strictSame(service.asked(), ['before_token'])
  t.match(service.questions[0], {
    type: 'before_token',
    data: {
      user: { id: user.id, email: user.email },
      client_id: 'web',
      grant_type: 'authorization_code',
      scopes: ['openid', 'orders:read'],
      audience: orders,
    },
  })
  t.match(decodeJwt(tokens.access_token), { tier: 'gold', sub: String(user.id), scope: 'openid orders:read' })
  t.match(decodeJwt(tokens.id_token ?? ''), { tier: 'gold', sub: String(user.id), aud: 'web' })
  service.answer = () => ({ claims: { tier: 2, regions: ['eu', 'us'] } })
  const renewed = (await refresh(svc, 'web', tokens.refresh_token, { scope: 'orders:read' })).json()
  t.match(decodeJwt(renewed.access_token), { tier: 2, regions: ['eu', 'us'] })
  t.match(service.questions[1]?.data, { grant_type: 'refresh_token', scopes: ['orders:read'] })
  t.strictSame(service.asked(), ['before_token'])
  t.match(await introspect(svc, 'watcher', renewed.access_token), { active: true })
  t.notMatch(JSON.stringify(service.questions), new RegExp(tokens.refresh_token))
})

t.test('asks for every other grant too', async (t) => {
  const service = await startService(t)
  const svc = await build(t, service)
  const user = await svc.createUser()
  service.answer = tier('gold')
  const machine = (await token(svc, 'machine', { grant_type: 'client_credentials' })).json()
  t.match(decodeJwt(machine.access_token), { tier: 'gold', client_id: 'machine', gty: 'client_credentials' })
  t.match(service.questions.at(-1)?.data, { user: null, client_id: 'machine', grant_type: 'client_credentials' })

  const fields = {
    grant_type: 'password',
    username: user.email,
    password: 'correct horse',
    scope: 'openid orders:read',
  }
  const password = (await token(svc, 'legacy', fields)).json()
  t.match(decodeJwt(password.access_token), { tier: 'gold' })
  t.match(decodeJwt(password.id_token), { tier: 'gold' })

  const ada = new Person(svc, user.email)
  const web = await codeFlow(svc, ada, 'web', { scope: 'orders:read' })
  const exchanged = (await exchange(svc, web.access_token)).json()
  t.match(decodeJwt(exchanged.access_token), { tier: 'gold', client_id: 'gateway' })

  const begun = (await post(svc, '/oauth/device/code', 'tv', {})).json()
  await ada
    .press(await ada.press(await ada.go('/oauth/device'), { user_code: begun.user_code }), { confirm: 'yes' })
    .then((asked) => ada.decide(asked))
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
  const device = (await token(svc, 'tv', { grant_type, device_code: begun.device_code })).json()
  t.match(decodeJwt(device.access_token), { tier: 'gold', client_id: 'tv' })

  const browser = svc.browser()
  await browser.signIn(user.email)
  const fresh = (await browser.post('/oauth/token/fresh')).json().access_token
  t.match(decodeJwt(fresh), { tier: 'gold' })
  const personal = await browser.post('/oauth/personal-access-tokens', { name: 'ci', scopes: ['orders:write'] })
  t.match(decodeJwt(personal.json().accessToken), { tier: 'gold' })
  t.strictSame(
    service.questions.map(({ data }) => data.grant_type.replace(/.*:/, '')),
    [
      ...['client_credentials', 'password', 'authorization_code', 'token-exchange', 'device_code'],
      ...['session', 'personal_access_token'],
    ],
  )
})

t.test('refuses tokens with the reason, and leaves a refresh token as it was', async (t) => {
  const service = await startService(t)
  const svc = await build(t, service)
  const user = await svc.createUser()
  const ada = new Person(svc, user.email)
  const tokens = await codeFlow(svc, ada, 'web', { scope: 'openid orders:read' })
  service.answer = deny
  const answers = [
    [await refresh(svc, 'web', tokens.refresh_token), 'invalid_grant'],
    [await exchange(svc, tokens.access_token), 'invalid_grant'],
    [await token(svc, 'machine', { grant_type: 'client_credentials' }), 'unauthorized_client'],
    [
      await token(svc, 'legacy', { grant_type: 'password', username: user.email, password: 'correct horse' }),
      'invalid_grant',
    ],
  ] as const
  for (const [answer, error] of answers) {
    t.equal(answer.statusCode, 400)
    t.strictSame(answer.json(), { error, error_description: message })
  }
  const stop = await ada.allow(request('web', { scope: 'orders:read' }))
  t.match((await redeem(svc, 'web', response(stop).code ?? '')).json(), {
    error: 'invalid_grant',
    error_description: message,
  })
  const browser = svc.browser()
  await browser.signIn(user.email)
  const fresh = await browser.post('/oauth/token/fresh')
  t.equal(fresh.statusCode, 403)
  t.strictSame(fresh.json(), { message, code: 'denied_by_policy' })
  const personal = await browser.post('/oauth/personal-access-tokens', { name: 'ci', scopes: [] })
  t.equal(personal.statusCode, 403)
  t.strictSame((await browser.get('/oauth/personal-access-tokens')).json(), [])
  const events = await svc.database.prisma.event.findMany({ where: { type: 'denied_by_hook' } })
  t.match(JSON.parse(events[0]?.data ?? ''), { hook: 'before_token', client_id: 'web', grant_type: 'refresh_token' })

  service.answer = () => ({})
  const renewed = await refresh(svc, 'web', tokens.refresh_token)
  t.equal(renewed.statusCode, 200, 'the refused request used nothing up')
  t.match(await introspect(svc, 'watcher', renewed.json().access_token), { active: true })
})

t.test('answers temporarily_unavailable without an answer, so that clients try again', async (t) => {
  const service = await startService(t)
  const svc = await build(t, service)
  const { email } = await svc.createUser()
  const tokens = await codeFlow(svc, new Person(svc, email), 'web', { scope: 'orders:read' })
  service.answer = () => ({ status: 500, body: 'oops' })
  const failed = await refresh(svc, 'web', tokens.refresh_token)
  t.equal(failed.statusCode, 503)
  t.match(failed.json(), { error: 'temporarily_unavailable' })
  t.equal(failed.headers['retry-after'], '5')
  t.equal((await token(svc, 'machine', { grant_type: 'client_credentials' })).statusCode, 503)
  service.answer = () => ({})
  t.equal((await refresh(svc, 'web', tokens.refresh_token)).statusCode, 200)
})

t.test('adds only the claims that the configuration lists', async (t) => {
  const service = await startService(t)
  const strict = await build(t, service)
  const lenient = await build(t, service, { on_failure: 'allow' })
  for (const claims of [{ sub: '1' }, { role: 'admin' }, { other: 'x' }, { tier: { nested: true } }]) {
    service.answer = () => ({ claims })
    t.equal(
      (await token(strict, 'machine', { grant_type: 'client_credentials' })).statusCode,
      503,
      JSON.stringify(claims),
    )
    const issued = await token(lenient, 'machine', { grant_type: 'client_credentials' })
    t.equal(issued.statusCode, 200)
    const found = decodeJwt(issued.json().access_token)
    t.match(found, { sub: 'machine', client_id: 'machine' })
    t.notOk('tier' in found || 'role' in found || 'other' in found)
  }
})

t.test('tells the audience of the token, however the client names it', async (t) => {
  const service = await startService(t)
  const svc = await build(t, service)
  const { email } = await svc.createUser()
  const ada = new Person(svc, email)
  const web = await codeFlow(svc, ada, 'web', { scope: 'openid orders:read', resource: orders })
  await refresh(svc, 'web', web.refresh_token)
  await codeFlow(svc, ada, 'web', { scope: 'openid' })
  await token(svc, 'gateway', {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: web.access_token,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    audience: 'orders',
  })
  await token(svc, 'machine', { grant_type: 'client_credentials' })
  t.strictSame(
    service.questions.map(({ data }) => data.audience),
    [orders, orders, 'http://localhost:8000', orders, orders],
  )
})

t.test('still notices a refresh token that is used twice', async (t) => {
  const service = await startService(t)
  const svc = await build(t, service)
  const { email } = await svc.createUser()
  const first = await codeFlow(svc, new Person(svc, email), 'web', { scope: 'orders:read' })
  const second = (await refresh(svc, 'web', first.refresh_token)).json()
  travel(svc, hour)
  service.asked()
  service.answer = deny
  t.match((await refresh(svc, 'web', first.refresh_token)).json(), { error: 'invalid_grant' })
  t.strictSame(service.asked(), [], 'asks nothing about it')
  service.answer = () => ({})
  t.equal((await refresh(svc, 'web', second.refresh_token)).statusCode, 400, 'the family has ended')
})

t.test('uses up no code without an answer', async (t) => {
  const service = await startService(t)
  const svc = await build(t, service)
  const { email } = await svc.createUser()
  for (const client of ['web', 'once']) {
    const query = { ...request(client), redirect_uri: callback, scope: 'orders:read' }
    const { code = '' } = response(await new Person(svc, email).allow(query))
    service.answer = () => ({ status: 500, body: '' })
    t.equal((await redeem(svc, client, code, { redirect_uri: callback })).statusCode, 503)
    service.answer = () => ({})
    t.equal((await redeem(svc, client, code, { redirect_uri: callback })).statusCode, 200, client)
  }
})

t.test('issues no token without an answer when too many requests arrive at once', async (t) => {
  const service = await startService(t)
  const svc = await build(t, service, { on_failure: 'allow', timeout: '10s' })
  const gate = Promise.withResolvers<void>()
  service.answer = () => ({ body: JSON.stringify(deny()), after: gate.promise })
  const asking = Array.from({ length: 260 }, () => token(svc, 'machine', { grant_type: 'client_credentials' }))
  await until(() => service.questions.length >= 100)
  gate.resolve()
  const statuses = (await Promise.all(asking)).map(({ statusCode }) => statusCode)
  t.notOk(statuses.includes(200))
  t.ok(statuses.includes(503))
  t.equal(
    (await token(svc, 'machine', { grant_type: 'client_credentials' })).statusCode,
    400,
    'and the hook still decides',
  )
})
