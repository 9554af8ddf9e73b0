// engine: none
import t from 'tap'
import { callback, verifier } from '../../../support/oauth.ts'
import { basic, buildServer, credentials, machine, post } from './parties.ts'

const encoded = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'
const spa = { type: 'public', grants: ['authorization_code', 'refresh_token'], redirect_uris: [callback] }
const clients = [
  { client_id: 'spa', ...spa },
  { client_id: 'my:app+1', ...spa },
  { client_id: 'tv', type: 'public', grants: ['device_code'] },
  machine('robot'),
  machine('plus', { secret: 'a+secret%20with/reserved:characters' }),
]

t.test('accepts a public client that sends Basic with an empty secret', async (t) => {
  const svc = await buildServer(t, clients)
  const refresh = { grant_type: 'refresh_token', refresh_token: 'x' }
  const cases: [string, string, object][] = [
    ['/oauth/token', 'spa', refresh],
    ['/oauth/token', 'my:app+1', refresh],
    ['/oauth/token', 'tv', { grant_type: deviceGrant, device_code: 'x' }],
    ['/oauth/token', 'spa', { ...refresh, client_id: 'spa' }],
  ]
  for (const [path, id, fields] of cases) {
    const form = await post(svc, path, fields as Record<string, string>, basic(id, ''))
    t.same([form.statusCode, form.json().error], [400, 'invalid_grant'], `${id}: authenticated, form`)
    const json = await svc.app.inject({ method: 'POST', url: path, headers: basic(id, ''), payload: fields })
    t.same([json.statusCode, json.json().error], [400, 'invalid_grant'], `${id}: authenticated, JSON`)
  }
  t.equal((await post(svc, '/oauth/revoke', { token: 'x' }, basic('spa', ''))).statusCode, 200)
  t.equal((await post(svc, '/oauth/introspect', { token: 'x' }, basic('spa', ''))).statusCode, 200)
  const begun = await post(svc, '/oauth/device/code', { scope: 'openid' }, basic('tv', ''))
  t.match(begun.json(), { device_code: /./ })
  const code = { grant_type: 'authorization_code', code: 'x', redirect_uri: callback, code_verifier: verifier }
  t.equal((await post(svc, '/oauth/token', code, basic('spa', ''))).json().error, 'invalid_grant')
})

t.test('rejects an empty secret of every other client', async (t) => {
  const svc = await buildServer(t, clients)
  const ask = (headers: Record<string, string>, more: Record<string, string> = {}) =>
    post(svc, '/oauth/token', { ...credentials, ...more }, headers)
  t.same((await ask(basic('robot', ''))).statusCode, 400, 'a confidential client')
  t.same((await ask(basic('unknown', ''))).statusCode, 400, 'an unknown client')
  t.same((await ask(encoded(':'))).statusCode, 400, 'no client')
  t.same((await ask(encoded('%zz:'))).statusCode, 400, 'a name that cannot be decoded')
  const other = await ask(basic('spa', ''), { client_id: 'robot' })
  t.notOk('access_token' in other.json(), 'a public client cannot act as the one in the body')
  t.equal(other.statusCode, 401)
  const large = await post(svc, '/oauth/token', { ...credentials, x: 'x'.repeat(60_000) }, basic('spa', ''))
  t.same([large.statusCode, large.json().error], [400, 'invalid_request'])
})

t.test('explains the error in a badly encoded Basic header', async (t) => {
  const svc = await buildServer(t, clients)
  const secret = 'a+secret%20with/reserved:characters'
  const ask = (headers: Record<string, string>) => post(svc, '/oauth/token', credentials, headers)
  t.equal((await ask(basic('plus', secret))).statusCode, 200)
  const raw = await ask(encoded(`plus:${secret}`))
  t.same([raw.statusCode, raw.json().error], [401, 'invalid_client'])
  t.match(raw.json().error_description, /must be form-urlencoded before they are base64-encoded/)
  const percent = await ask(encoded('robot:100%sure'))
  t.same([percent.statusCode, percent.json().error], [400, 'invalid_request'])
  t.match(percent.json().error_description, /must be form-urlencoded before they are base64-encoded/)
  for (const authorization of ['Basic', 'Basic !!!', `Basic ${Buffer.from('robot').toString('base64')}`, 'Bearer x']) {
    const answer = await ask({ authorization })
    t.same([answer.statusCode, answer.json().error], [400, 'invalid_request'], authorization)
    t.match(answer.json().error_description, /must be "Basic " and the base64 of client_id:client_secret/)
  }
  const wrong = await ask(encoded('plus:another+secret'))
  t.equal(wrong.json().error_description, 'client authentication failed', 'a wrong secret gets no details')
})

t.test('lists client authentication methods for introspection and revocation in discovery', async (t) => {
  const svc = await buildServer(t, clients)
  for (const path of ['openid-configuration', 'oauth-authorization-server']) {
    const metadata = (await svc.app.inject(`/.well-known/${path}`)).json()
    for (const endpoint of ['introspection', 'revocation']) {
      const methods = metadata[`${endpoint}_endpoint_auth_methods_supported`]
      t.same(methods, ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'])
      const algorithms = metadata[`${endpoint}_endpoint_auth_signing_alg_values_supported`]
      t.same(algorithms, metadata.token_endpoint_auth_signing_alg_values_supported)
    }
  }
})

t.test('answers a revocation with an empty body without a content type', async (t) => {
  const svc = await buildServer(t, clients)
  const { access_token } = (
    await post(svc, '/oauth/token', credentials, basic('robot', 'a-secret-that-is-long-enough'))
  ).json()
  for (const token of [access_token, 'unknown']) {
    const answer = await post(svc, '/oauth/revoke', { token }, basic('robot', 'a-secret-that-is-long-enough'))
    t.same([answer.statusCode, answer.body], [200, ''])
    t.notOk('content-type' in answer.headers)
    t.equal(answer.headers['content-length'], '0')
  }
})

t.test('includes a subject in the introspection of a machine token', async (t) => {
  const svc = await buildServer(t, clients)
  const authorization = basic('robot', 'a-secret-that-is-long-enough')
  const { access_token } = (await post(svc, '/oauth/token', credentials, authorization)).json()
  const shown = await post(svc, '/oauth/introspect', { token: access_token }, authorization)
  t.match(shown.json(), { active: true, sub: 'robot', client_id: 'robot' })
  await post(svc, '/oauth/revoke', { token: access_token }, authorization)
  t.same((await post(svc, '/oauth/introspect', { token: access_token }, authorization)).json(), { active: false })
})

t.test('answers unauthorized_client to a client without the device grant', async (t) => {
  const svc = await buildServer(t, clients)
  const machineAnswer = await post(
    svc,
    '/oauth/device/code',
    { scope: 'openid' },
    basic('robot', 'a-secret-that-is-long-enough'),
  )
  t.same([machineAnswer.statusCode, machineAnswer.json().error], [400, 'unauthorized_client'], machineAnswer.body)
  const open = await post(svc, '/oauth/device/code', { client_id: 'spa' })
  t.same([open.statusCode, open.json().error], [400, 'unauthorized_client'])
  t.equal((await post(svc, '/oauth/device/code', { client_id: 'tv' })).statusCode, 200)
})

t.test('exposes the headers of limits to pages of clients', async (t) => {
  const settings = { rate_limits: { token: '1/1m' } }
  const svc = await buildServer(
    t,
    [...clients, machine('web', { secret: 'x'.repeat(32), cors_origins: ['https://page.example'] })],
    { settings },
  )
  const origin = 'https://page.example'
  const ask = () => post(svc, '/oauth/token', credentials, { ...basic('web', 'wrong'), origin })
  const first = await ask()
  t.equal(first.statusCode, 401)
  const names = /Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset/
  t.match(first.headers['access-control-expose-headers'], names)
  const limited = await ask()
  t.equal(limited.statusCode, 429)
  t.ok(limited.headers['retry-after'])
  t.equal(limited.headers['access-control-allow-origin'], origin)
  t.match(limited.headers['access-control-expose-headers'], names)
})
