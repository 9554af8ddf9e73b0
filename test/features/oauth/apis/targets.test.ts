// engine: none
import { createLocalJWKSet, jwtVerify } from 'jose'
import t from 'tap'
import type { TestApp } from '../../../support/app.ts'
import { codeFlow, Person, post, redeem, refresh, request, response, token } from '../../../support/oauth.ts'
import { bills, buildApis, facts, orders, settings, stock, svcAudience } from './setup.ts'

const grant_type = 'client_credentials'
const ofOrders = { aud: orders, ttl: 600, alg: 'ES256' }
const ofStock = { aud: stock, ttl: 120, alg: 'EdDSA' }
const ofSvc = { aud: svcAudience, ttl: 900, alg: 'ES256' }

const person = async (svc: TestApp) => new Person(svc, (await svc.createUser()).email)

t.test('issues tokens with the audience, lifetime and algorithm of the API of the requested scopes', async (t) => {
  const svc = await buildApis(t)
  const ada = await person(svc)
  const cases: [string, object][] = [
    ['openid orders:read', { ...ofOrders, scope: 'openid orders:read' }],
    ['orders:write orders:read', ofOrders],
    ['openid email stock:read', { ...ofStock, scope: 'openid email stock:read' }],
    ['view-tasks', ofSvc],
    ['openid profile', ofSvc],
  ]
  for (const [scope, expected] of cases) {
    const tokens = await codeFlow(svc, ada, 'web', { scope })
    t.match(facts(tokens.access_token), expected, scope)
    t.match(tokens, { expires_in: facts(tokens.access_token).ttl, scope: facts(tokens.access_token).scope })
    const renewed = (await refresh(svc, 'web', tokens.refresh_token)).json()
    t.match(facts(renewed.access_token), expected, `${scope}: refreshed`)
  }
  const jwks = createLocalJWKSet((await svc.app.inject('/.well-known/jwks.json')).json())
  const { access_token } = (await token(svc, 'machine', { grant_type, scope: 'stock:read' })).json()
  const expected = { issuer: svcAudience, audience: stock, typ: 'at+jwt', algorithms: ['EdDSA'] }
  await t.resolves(jwtVerify(access_token, jwks, { ...expected, currentDate: new Date(svc.clock.now()) }))
})

t.test('uses the resource to choose the API, at every endpoint that takes one', async (t) => {
  const svc = await buildApis(t)
  const ada = await person(svc)
  const asked = { resource: orders, scope: 'openid orders:read' }
  t.match(facts((await codeFlow(svc, ada, 'web', asked)).access_token), ofOrders, 'code')

  const pushed = (await post(svc, '/oauth/par', 'web', request('web', asked))).json()
  const { code = '' } = response(await ada.authorize({ client_id: 'web', request_uri: pushed.request_uri }))
  t.match(facts((await redeem(svc, 'web', code)).json().access_token), ofOrders, 'PAR')

  const begun = (await post(svc, '/oauth/device/code', 'tv', { resource: stock, scope: 'stock:read' })).json()
  const typed = await ada.press(await ada.go('/oauth/device'), { user_code: begun.user_code })
  await ada.decide(await ada.press(typed, { confirm: 'yes' }))
  const { device_code } = begun
  const device = await token(svc, 'tv', { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code })
  t.match(facts(device.json().access_token), ofStock, 'device')

  const machine = await token(svc, 'machine', { grant_type, resource: stock, scope: 'stock:read' })
  t.match(facts(machine.json().access_token), ofStock, 'client credentials')
  const password = { grant_type: 'password', username: ada.email, password: 'correct horse' }
  const legacy = (await token(svc, 'legacy', { ...password, resource: stock })).json()
  t.match(facts(legacy.access_token), { ...ofStock, scope: 'stock:read' }, 'password')
  t.match(facts((await refresh(svc, 'legacy', legacy.refresh_token)).json().access_token), ofStock)

  const subject = (await codeFlow(svc, ada, 'web', { scope: 'orders:read orders:write' })).access_token
  for (const name of ['resource', 'audience']) {
    const exchanged = await token(svc, 'gateway', {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: subject,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      [name]: orders,
      scope: 'orders:read',
    })
    t.match(facts(exchanged.json().access_token), { ...ofOrders, scope: 'orders:read' }, `exchange by ${name}`)
  }
  const json = await svc.app.inject({
    method: 'POST',
    url: '/oauth/token',
    payload: { grant_type, client_id: 'machine', client_secret: 'a-secret-that-is-long-enough', resource: [orders] },
  })
  t.match(facts(json.json().access_token), { ...ofOrders, scope: 'orders:read orders:write' }, 'JSON, without scope')
  for (const resource of [`${orders}/`, 'HTTPS://ORDERS.example.com:443']) {
    const answer = await token(svc, 'machine', { grant_type, resource })
    t.match(facts(answer.json().access_token), ofOrders, resource)
  }
  for (const resource of [stock, `${stock}/`, 'HTTPS://stock.example.com:443/v1/']) {
    const answer = await token(svc, 'machine', { grant_type, resource, scope: 'stock:read' })
    t.match(facts(answer.json().access_token), { aud: stock }, resource)
  }
  for (const resource of [
    'https://stock.example.com/V1',
    'https://stock.example.com/v1/x',
    'https://stock.example.com',
  ]) {
    const answer = await token(svc, 'machine', { grant_type, resource, scope: 'stock:read' })
    t.equal(answer.json().error, 'invalid_target', resource)
  }
})

t.test('logs the audience of a token that an endpoint refuses for it', async (t) => {
  const svc = await buildApis(t)
  const answer = await token(svc, 'machine', { grant_type: 'client_credentials', resource: orders })
  const { access_token } = answer.json()
  t.equal((await svc.bearer(access_token, 'GET', '/api/user')).statusCode, 401)
  const line = svc.logs.findLast((text) => text.includes('Access token refused')) ?? '{}'
  t.match(JSON.parse(line), {
    level: 'warn',
    client: 'machine',
    audience: orders,
    reason: `it is for ${orders}, and this endpoint accepts ${svcAudience}`,
    config_key: /guard\.rules\[\]\.audience/,
  })
  t.notMatch(line, access_token)
  const before = svc.logs.length
  await svc.bearer(`${access_token}x`, 'GET', '/api/user')
  t.notMatch(svc.logs.slice(before).join(''), 'Access token refused', 'another reason')
})

t.test('rejects scopes of two APIs and resources that the client may not use', async (t) => {
  const svc = await buildApis(t)
  const ada = await person(svc)
  await ada.signIn()
  const long = `https://${'x'.repeat(3000)}.example`
  const cases: [string, string, RegExp][] = [
    ['scope=openid orders:read stock:read', 'invalid_target', /scopes orders:read stock:read belong to different APIs/],
    ['scope=orders:read view-tasks', 'invalid_target', /orders:read view-tasks belong/],
    [`scope=orders:read&resource=${stock}`, 'invalid_target', /has scopes of https:\/\/orders\.example\.com \(orders:/],
    [`scope=stock:read view-tasks&resource=${stock}`, 'invalid_target', /http:\/\/localhost:8000 \(view-tasks\)/],
    ['scope=openid&resource=https://other.example', 'invalid_target', /https:\/\/other\.example is unknown/],
    [`scope=openid&resource=${bills}`, 'invalid_target', /bills\.example\.com is unknown, or the client lists none/],
    [`scope=openid&resource=${orders}/more`, 'invalid_target', /unknown/],
    [`scope=openid&resource=${orders}&resource=https://other.example`, 'invalid_target', /other\.example is unknown/],
    [`scope=openid&resource=${orders}%23x`, 'invalid_target', /fragment/],
    [`scope=openid&resource=${orders}%23`, 'invalid_target', /fragment/],
    ['scope=openid&resource=/orders', 'invalid_target', /absolute URI/],
    ['scope=openid&resource=orders', 'invalid_target', /absolute URI/],
    ['scope=openid&resource=https://ä"%5C%0d%0a.example', 'invalid_target', /^[ !#-[\]-~]+$/],
    [`scope=openid&resource=${long}`, 'invalid_target', /^.{100,400}$/],
    ['scope=openid bills:read', 'invalid_scope', /not allowed/],
    ['scope=orders:read bills:read', 'invalid_scope', /not allowed/],
    [`scope=bills:read&resource=${orders}`, 'invalid_scope', /not allowed/],
    ['', 'invalid_target', /belong to different APIs/],
  ]
  for (const [text, error, error_description] of cases) {
    const expected = { error, error_description }
    const query = `${new URLSearchParams(request('web'))}&${new URLSearchParams(text)}`
    t.match(response(await ada.authorize(query)), { ...expected, state: 'the-state' }, `authorize: ${text}`)
    t.match((await post(svc, '/oauth/par', 'web', query)).json(), expected, `PAR: ${text}`)
    const form = `${new URLSearchParams(text)}`
    t.match((await post(svc, '/oauth/device/code', 'tv', form)).json(), expected, `device: ${text}`)
    const machine = await token(svc, 'machine', `grant_type=client_credentials&${form}`)
    t.match({ status: machine.statusCode, ...machine.json() }, { status: 400, ...expected }, `machine: ${text}`)
    const password = `grant_type=password&username=${ada.email}&password=correct horse&${form}`
    t.match((await token(svc, 'legacy', password)).json(), { error }, `password: ${text}`)
  }
})

t.test('rejects tokens of other APIs at the routes of svc', async (t) => {
  const svc = await buildApis(t)
  const ada = await person(svc)
  const status = async (value: string) => (await svc.bearer(value, 'GET', '/api/user')).statusCode
  const { access_token } = await codeFlow(svc, ada, 'web', { scope: 'openid orders:read' })
  t.equal(await status(access_token), 401)
  t.equal((await svc.bearer(access_token, 'GET', '/oauth/userinfo')).statusCode, 200, 'UserInfo serves the client')
  t.equal(await status((await codeFlow(svc, ada, 'web', { scope: 'view-tasks' })).access_token), 200)
  const machine = (await token(svc, 'machine', { grant_type, scope: 'stock:read' })).json()
  t.equal(await status(machine.access_token), 401)
})

t.test('rejects an API without a requested scope, because the user would not see it', async (t) => {
  const svc = await buildApis(t)
  const ada = new Person(svc, (await svc.createUser()).email)
  t.ok(response(await ada.allow(request('web', { scope: 'openid' }))).code)
  for (const scope of ['openid', 'openid view-tasks']) {
    const query = { ...request('web', { scope, resource: orders }), prompt: 'none' }
    t.match(response(await ada.authorize(query)), { error: 'invalid_target' }, scope)
  }
  const pushed = await post(svc, '/oauth/par', 'web', request('web', { scope: 'openid', resource: orders }))
  t.match([pushed.statusCode, pushed.json().error], [400, 'invalid_target'])
  const device = await post(svc, '/oauth/device/code', 'tv', { scope: 'openid', resource: orders })
  t.match([device.statusCode, device.json().error], [400, 'invalid_target'])
})

t.test('combines scopes of OpenID Connect that a client lists with those of an API', async (t) => {
  const { clients } = settings as { clients: { scopes: string[] }[] }
  const listed = clients.map((client) => ({ ...client, scopes: ['openid', 'email', 'orders:read'] }))
  const svc = await buildApis(t, { clients: listed })
  const ada = new Person(svc, (await svc.createUser()).email)
  for (const more of [{}, { resource: orders }]) {
    const { access_token } = await codeFlow(svc, ada, 'web', { scope: 'openid email orders:read', ...more })
    t.match(facts(access_token), { aud: orders, scope: 'openid email orders:read' })
  }
})
