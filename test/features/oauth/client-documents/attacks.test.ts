// engine: none
import { decodeJwt } from 'jose'
import t, { type Test } from 'tap'
import { buildTestApp, type Settings, type TestApp } from '../../../support/app.ts'
import { hour, second } from '../../../support/clock.ts'
import { DocumentHost, loopback, openTo } from '../../../support/document-host.ts'
import { Person, pkce, response, verifier } from '../../../support/oauth.ts'
import { stopTime, travel } from '../../../support/time.ts'
import { assertion, newKey, post } from '../clients/parties.ts'

type Fields = Record<string, string>

const asks = (client_id: string, more: Fields = {}) => ({
  client_id,
  response_type: 'code',
  redirect_uri: loopback,
  scope: 'orders:read',
  ...pkce,
  ...more,
})

async function start(t: Test, more: Settings = {}) {
  const host = await DocumentHost.start(t)
  const clock = stopTime(t)
  const svc = await buildTestApp(t, { settings: openTo(more), clock })
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  return { host, clock, svc, ada }
}

const redeem = (svc: TestApp, code: string, fields: Fields) =>
  post(svc, '/oauth/token', {
    grant_type: 'authorization_code',
    code,
    redirect_uri: loopback,
    code_verifier: verifier,
    ...fields,
  })

const codeOf = async (ada: Person, query: Fields): Promise<string> => response(await ada.allow(query)).code ?? ''

t.test('grants never more than oauth.client_id_metadata.scopes', async (t) => {
  const { host, svc, ada, clock } = await start(t)
  const client_id = host.serve('/client.json', { scope: 'openid email svc:admin orders:write' })
  const wide = 'openid profile email roles offline_access orders:read orders:write svc:admin'
  const claims = { userinfo: { email: null, roles: { essential: true } }, id_token: { email: null, name: null } }
  const page = await ada.authorize(asks(client_id, { scope: wide, claims: JSON.stringify(claims), prompt: 'consent' }))
  t.notMatch(page.answer.body, /email address|Change your orders/)
  const { code = '' } = response(await ada.decide(page))
  const tokens = (await redeem(svc, code, { client_id })).json()
  t.equal(tokens.scope, 'openid offline_access orders:read', 'the response names the granted part')
  t.match(decodeJwt(tokens.id_token), { sub: /\d/, email: undefined, name: undefined, roles: undefined })
  const info = (await svc.bearer(tokens.access_token, 'GET', '/oauth/userinfo')).json()
  t.same(Object.keys(info), ['sub'])
  t.equal((await svc.bearer(tokens.access_token, 'GET', '/admin/v1/users')).statusCode, 403)
  const user = (await svc.bearer(tokens.access_token, 'GET', '/api/user')).json()
  t.match(user, { email: undefined, name: undefined, role: undefined })

  const refused = await ada.authorize(asks(client_id, { scope: 'orders:write email' }))
  t.match([refused.out, refused.answer.body], [null, /<code>invalid_scope: /], 'nothing is left')
  const more = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id, scope: 'orders:write' }
  t.equal((await post(svc, '/oauth/token', more)).json().error, 'invalid_scope')
  const pushed = await post(svc, '/oauth/par', asks(client_id, { scope: wide }))
  const { request_uri } = pushed.json()
  const fromPushed = await codeOf(ada, { client_id, request_uri })
  t.equal((await redeem(svc, fromPushed, { client_id })).json().scope, tokens.scope, 'also of a pushed request')

  const narrow = await buildTestApp(t, { settings: openTo({ scopes: ['openid'] }), clock, database: svc.where })
  const renewal = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id }
  const renewed = await post(narrow, '/oauth/token', renewal)
  t.notMatch(renewed.json().scope ?? '', 'orders', 'a refresh after the list became shorter')
  t.notMatch(renewed.json().access_token ? String(decodeJwt(renewed.json().access_token).scope) : '', 'orders')
})

t.test('asks for the scopes of the API only if a request names none', async (t) => {
  const { host, svc, ada } = await start(t)
  const client_id = host.serve('/client.json')
  const { scope: _, ...query } = asks(client_id)
  const tokens = (await redeem(svc, await codeOf(ada, query), { client_id })).json()
  t.equal(tokens.scope, 'orders:read')
})

t.test('asks for consent each time, whatever the request and earlier answers say', async (t) => {
  const { host, svc, ada } = await start(t)
  const redirect_uri = `${host.origin()}/cb`
  const client_id = host.serve('/web.json', { redirect_uris: [redirect_uri] })
  const query = asks(client_id, { redirect_uri, scope: 'openid orders:read' })
  const first = await ada.authorize(query)
  t.match(first.answer.body, new RegExp(`You will continue to[^]*localhost:${host.port}`))
  t.match(first.answer.body, /Authorize access only if you trust localhost:\d+ and started there/)
  t.ok(response(await ada.decide(first)).code)
  for (const prompt of ['', 'login', 'consent', 'select_account']) {
    const next = await ada.decide(await ada.authorize(prompt ? { ...query, prompt } : query), 'deny')
    t.equal(
      response(next).error ?? next.page,
      prompt === 'select_account' ? 'Choose an account' : 'access_denied',
      prompt,
    )
  }
  const silent = await ada.authorize({ ...query, prompt: 'none' })
  t.match([silent.out, silent.answer.body], [null, /<code>consent_required: /])
  const implied = await svc.database.prisma.oauthConsent.count()
  t.ok(implied > 0, 'although svc remembers what the user allowed, for the list of connected apps')
})

t.test('follows a document that changes between the consent and the token', async (t) => {
  const { host, svc, ada } = await start(t)
  const key = await newKey('ES256')
  const path = '/client.json'
  const renew = async (members: object) => {
    host.serve(path, members)
    travel(svc, hour)
    await new Person(svc, 'x@example.com').authorize(asks(client_id))
  }
  const client_id = host.serve(path)
  const page = await ada.authorize(asks(client_id))
  await renew({ redirect_uris: ['http://127.0.0.1:9/other'] })
  const resumed = await ada.press(page, { decision: 'approve' })
  t.match([resumed.page, resumed.out], ['Error', null], 'the redirect URI is no longer in the document: no code')

  await renew({})
  travel(svc, hour - 2 * second)
  const code = await codeOf(ada, asks(client_id))
  host.serve(path, {
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [{ ...key.jwk, ext: true, exp: 4e9 }] },
  })
  travel(svc, 3 * second)
  t.equal((await redeem(svc, code, { client_id })).json().error, 'invalid_client', 'it now authenticates by a key')
  t.equal((await redeem(svc, code, await assertion(key, client_id))).statusCode, 200)
})

t.test('binds codes to their client and to PKCE, so that a stolen code is useless', async (t) => {
  const { host, svc, ada } = await start(t)
  const [own, other] = [host.serve('/own.json'), host.serve('/other.json')]
  await ada.authorize(asks(other))
  const code = async () => codeOf(ada, asks(own))
  t.equal((await redeem(svc, await code(), { client_id: other })).json().error, 'invalid_grant', 'another client')
  const wrong = { client_id: own, code_verifier: 'x'.repeat(43) }
  t.equal((await redeem(svc, await code(), wrong)).json().error, 'invalid_grant', 'a program on the same port')
  const elsewhere = { client_id: own, redirect_uri: 'http://127.0.0.1:1/callback' }
  t.equal((await redeem(svc, await code(), elsewhere)).json().error, 'invalid_grant', 'another port')
  const stolen = { grant_type: 'refresh_token', client_id: other }
  const { refresh_token } = (await redeem(svc, await code(), { client_id: own })).json()
  t.equal((await post(svc, '/oauth/token', { ...stolen, refresh_token })).json().error, 'invalid_grant')
})

t.test('accepts only the algorithm and the keys of the document', async (t) => {
  const { host, svc, ada } = await start(t)
  const [key, rsa] = [await newKey('ES256'), await newKey('RS256')]
  const jwks = { keys: [key.jwk] }
  const client_id = host.serve('/client.json', { token_endpoint_auth_method: 'private_key_jwt', jwks })
  const symmetric = host.serve('/oct.json', {
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] },
  })
  t.equal((await ada.authorize(asks(symmetric))).page, 'Error', 'a symmetric key')
  const { privateKey: _, ...shape } = key
  const bad: Record<string, Fields> = {
    'another algorithm': await assertion(rsa, client_id),
    'the kid of the key with another key': await assertion(await newKey('ES256', shape.jwk.kid), client_id),
    'an assertion for another server': await assertion(key, client_id, { aud: 'https://other.example' }),
    'an assertion of another subject': await assertion(key, client_id, { sub: 'https://other.example/c' }),
    'an assertion without a signature': {
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: [
        { alg: 'none' },
        { iss: client_id, sub: client_id, aud: 'http://localhost:8000', exp: 9e9, jti: 'x' },
      ]
        .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
        .join('.')
        .concat('.'),
    },
  }
  for (const [name, fields] of Object.entries(bad)) {
    const answer = await redeem(svc, await codeOf(ada, asks(client_id)), fields)
    t.match([answer.statusCode, answer.json().error], [401, 'invalid_client'], name)
  }
  const once = await assertion(key, client_id)
  t.equal((await redeem(svc, await codeOf(ada, asks(client_id)), once)).statusCode, 200)
  const replayed = await redeem(svc, await codeOf(ada, asks(client_id)), once)
  t.equal(replayed.json().error, 'invalid_client', 'a replayed assertion')
})

t.test('prefers a registered client of the same client_id, and fetches nothing for it', async (t) => {
  const host = await DocumentHost.start(t)
  const client_id = host.serve('/client.json')
  const registered = { client_id, name: 'Registered', type: 'public', application_type: 'native' }
  const clients = [
    { ...registered, redirect_uris: [loopback], grants: ['authorization_code'], scopes: ['orders:write'] },
  ]
  const svc = await buildTestApp(t, { settings: { ...openTo(), clients }, clock: stopTime(t) })
  const ada = new Person(svc, (await svc.createUser()).email)
  await ada.signIn()
  const page = await ada.authorize(asks(client_id, { scope: 'orders:write' }))
  t.match(page.answer.body, /Registered asks for access/)
  t.notMatch(page.answer.body, 'No administrator has checked this app')
  t.equal(host.calls.length, 0)
})

t.test('lets pages of the redirect origins read token responses, and no others', async (t) => {
  const { host, svc, ada } = await start(t)
  const redirect_uri = `${host.origin()}/cb`
  const client_id = host.serve('/web.json', { redirect_uris: [redirect_uri] })
  const redeemFrom = async (origin: string) => {
    const code = await codeOf(ada, asks(client_id, { redirect_uri }))
    const fields = { grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier, client_id }
    return post(svc, '/oauth/token', fields, { origin })
  }
  const own = await redeemFrom(host.origin())
  t.match([own.statusCode, own.headers['access-control-allow-origin']], [200, host.origin()])
  t.equal(own.headers['access-control-allow-credentials'], undefined)
  t.equal((await redeemFrom('https://evil.example')).json().error, 'invalid_request')
})
