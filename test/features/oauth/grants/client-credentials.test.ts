// engine: none
import { decodeJwt, SignJWT } from 'jose'
import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import { basic, clients, oauthSettings, secret, token } from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'

const grant_type = 'client_credentials'

t.test('grants a machine the scopes that it lists, and never acts as a user', async (t) => {
  const numbered = { client_id: 'user-1', type: 'confidential', secret, grants: [grant_type], scopes: ['orders:read'] }
  const settings = { ...oauthSettings, samples: true, clients: [...clients, numbered] }
  const svc = await buildTestApp(t, { settings, clock: stopTime(t) })
  const user = await svc.createUser()
  const answer = await token(svc, 'machine', { grant_type })
  t.match(answer.headers, { 'cache-control': /no-store/, 'content-type': /^application\/json/ })
  const tokens = answer.json()
  t.match(tokens, { token_type: 'Bearer', expires_in: 900, scope: 'orders:read', refresh_token: undefined })
  t.match(decodeJwt(tokens.access_token), {
    iss: 'http://localhost:8000',
    aud: 'http://localhost:8000',
    sub: 'machine',
    client_id: 'machine',
    scope: 'orders:read',
    scopes: ['orders:read'],
    gty: 'client_credentials',
    gid: undefined,
  })
  t.equal((await svc.bearer(tokens.access_token, 'GET', '/api/user')).statusCode, 403, `not user ${user.id}`)
  t.equal((await svc.bearer(tokens.access_token, 'GET', '/oauth/userinfo')).statusCode, 401)
  t.equal((await svc.bearer(tokens.access_token, 'POST', '/api/tokens/create', { token_name: 'x' })).statusCode, 403)

  t.match(
    (await token(svc, 'machine', { grant_type, scope: '' })).json(),
    { scope: 'orders:read' },
    'empty counts as missing',
  )
  for (const scope of ['orders:write', 'stock:read', 'orders:read stock:read', 'roles']) {
    const refused = await token(svc, 'machine', { grant_type, scope })
    t.match([refused.statusCode, refused.json().error], [400, 'invalid_scope'], scope)
  }
})

t.test('accepts a form or flat JSON without duplicate fields', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const sent = (payload: object | string, headers: Record<string, string> = {}) =>
    svc.app.inject({ method: 'POST', url: '/oauth/token', headers, payload })
  const inBody = { grant_type, client_id: 'machine', client_secret: secret }
  t.match((await sent(inBody)).json(), { scope: 'orders:read' }, 'JSON, with the secret')
  t.match((await sent({ grant_type }, basic('machine'))).json(), { scope: 'orders:read' }, 'JSON, with Basic')
  for (const body of [
    { ...inBody, scope: ['orders:read'] },
    [inBody],
    { ...inBody, scope: { a: 1 } },
    { ...inBody, x: 1 },
  ])
    t.match((await sent(body)).json(), { error: 'invalid_request' }, JSON.stringify(body))
  const form = { 'content-type': 'application/x-www-form-urlencoded', ...basic('machine') }
  for (const twice of [
    'grant_type=client_credentials',
    'scope=orders:read&scope=orders:read',
    'client_id=machine&client_id=web',
  ]) {
    const answer = await sent(`grant_type=client_credentials&${twice}`, form)
    t.match([answer.statusCode, answer.json().error], [answer.statusCode, /invalid_(request|client)/], twice)
    t.ok([400, 401].includes(answer.statusCode), twice)
  }
  const json = '{"grant_type":"client_credentials","grant_type":"password"}'
  const last = await sent(json, { 'content-type': 'application/json', ...basic('machine') })
  t.ok(last.statusCode >= 400, 'the last of duplicate JSON fields counts')
})

t.test('rejects other clients and clients without the grant', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const answered = async (headers: Record<string, string>, fields: Record<string, string>) => {
    const answer = await svc.app.inject({
      method: 'POST',
      url: '/oauth/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      payload: new URLSearchParams(fields).toString(),
    })
    return [answer.statusCode, answer.json().error]
  }
  t.same(await answered(basic('machine', 'wrong'), { grant_type }), [401, 'invalid_client'])
  t.same(await answered(basic('unknown'), { grant_type }), [401, 'invalid_client'])
  t.same(await answered(basic('svc-personal', 'x'), { grant_type }), [401, 'invalid_client'])
  t.same(await answered({}, { grant_type, client_id: 'machine' }), [401, 'invalid_client'], 'no secret')
  t.same(await answered({}, { grant_type, client_id: 'spa' }), [400, 'unauthorized_client'], 'a public client')
  t.same(await answered(basic('web'), { grant_type }), [400, 'unauthorized_client'], 'a grant that it does not list')
  t.same(await answered(basic('machine'), { grant_type: 'personal_access' }), [400, 'unsupported_grant_type'])
  t.same(await answered(basic('machine'), {}), [400, 'invalid_request'])
  const assertion = await new SignJWT({})
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject('machine')
    .setIssuer('machine')
    .setJti('1')
    .setAudience('http://localhost:8000')
    .setIssuedAt()
    .setExpirationTime('1m')
    .sign(Buffer.from(secret))
  const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
  t.same(
    await answered({}, { grant_type, client_assertion: assertion, client_assertion_type }),
    [401, 'invalid_client'],
    'the secret is not a key',
  )
})
