// engine: none
import * as openid from 'openid-client'
import t, { type Test } from 'tap'
import type { Settings, TestApp } from '../../../support/app.ts'
import { callback, Person, pkce, response, verifier } from '../../../support/oauth.ts'
import {
  assertion,
  buildServer,
  injectFetch,
  issuer,
  type Key,
  newKey,
  post,
  proof,
  scopes,
  secret,
} from '../clients/parties.ts'

const [key, rsa, weak] = await Promise.all([newKey('ES256'), newKey('PS256'), newKey('RS256')])
const code = { grants: ['authorization_code', 'refresh_token'], scopes: ['orders:read'], redirect_uris: [callback] }
const jwks = { keys: [key.jwk, rsa.jwk, weak.jwk] }
const clients: Settings[] = [
  { client_id: 'bank', type: 'confidential', fapi: true, jwks, ...code },
  { client_id: 'pushing', type: 'confidential', secret, require_par: true, ...code },
  { client_id: 'web', type: 'confidential', secret, ...code },
]

const asked = (client_id: string, more: Record<string, string> = {}) => ({
  client_id,
  response_type: 'code',
  redirect_uri: callback,
  scope: 'openid orders:read',
  state: 'the-state',
  ...pkce,
  ...more,
})

async function start(t: Test) {
  const settings = { scopes: { ...scopes, 'orders:write': 'Change your orders' } }
  const svc = await buildServer(t, clients, { settings })
  const { email, id } = await svc.createUser()
  return { svc, id, person: new Person(svc, email) }
}

const push = (svc: TestApp, fields: Record<string, string>) =>
  post(svc, '/oauth/par', { ...fields, ...(fields.client_assertion ? {} : { client_secret: secret }) })

t.test('completes a FAPI 2.0 flow with openid-client', async (t) => {
  const { svc, id, person } = await start(t)
  const config = await openid.discovery(
    new URL(issuer),
    'bank',
    undefined,
    openid.PrivateKeyJwt({ key: key.privateKey, kid: 'ES256' }),
    { execute: [openid.allowInsecureRequests], [openid.customFetch]: injectFetch(svc) },
  )
  config.timeout = 30
  t.equal(config.serverMetadata().authorization_response_iss_parameter_supported, true)
  const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair('ES256'))
  const code_verifier = openid.randomPKCECodeVerifier()
  const state = openid.randomState()
  const nonce = openid.randomNonce()
  const url = await openid.buildAuthorizationUrlWithPAR(
    config,
    {
      redirect_uri: callback,
      scope: 'openid profile orders:read',
      code_challenge: await openid.calculatePKCECodeChallenge(code_verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    },
    { DPoP },
  )
  t.same([...url.searchParams.keys()].sort(), ['client_id', 'request_uri'], 'the browser carries no parameters')
  const { out } = await person.decide(await person.go(url.pathname + url.search))
  if (!out) throw new Error('The journey ended at a page.')
  t.equal(out.searchParams.get('iss'), issuer)
  const tokens = await openid.authorizationCodeGrant(
    config,
    out,
    { pkceCodeVerifier: code_verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true },
    undefined,
    { DPoP },
  )
  t.match(tokens, { token_type: 'dpop', refresh_token: String, id_token: String })
  t.equal(JSON.parse(Buffer.from(tokens.id_token?.split('.')[0] ?? '', 'base64url').toString()).alg, 'ES256')
  const info = await openid.fetchUserInfo(config, tokens.access_token, String(id), { DPoP })
  t.equal(info.name, 'Ada Example')
  const api = new URL('/api/user', issuer)
  const answer = await openid.fetchProtectedResource(config, tokens.access_token, api, 'GET', null, undefined, { DPoP })
  t.match(await answer.json(), { id }, "svc's own API")

  const refresh = tokens.refresh_token ?? ''
  for (let n = 0; n < 3; n++) {
    const next = await openid.refreshTokenGrant(config, refresh, undefined, { DPoP })
    t.equal(next.refresh_token ?? refresh, refresh, 'not rotated (section 5.3.2.1)')
  }
  await openid.tokenRevocation(config, tokens.access_token)
  t.equal((await openid.tokenIntrospection(config, tokens.access_token)).active, false)
})

t.test('rejects what FAPI forbids', async (t) => {
  const { svc, person } = await start(t)
  const sign = (by: Key = key, claims = {}) => assertion(by, 'bank', claims)
  const pushed = async (more: Record<string, string> = {}) => push(svc, { ...asked('bank', more), ...(await sign()) })
  const plain = await person.authorize(asked('bank'))
  t.match(response(plain), { error: 'invalid_request', error_description: /must be used/ }, 'it must be pushed')

  t.equal((await pushed()).statusCode, 201)
  const noPkce = await push(svc, {
    ...Object.fromEntries(Object.entries(asked('bank')).filter(([name]) => !name.startsWith('code_'))),
    ...(await sign()),
  })
  const bad: [string, { body: string }, string][] = [
    ['no PKCE', noPkce, 'invalid_request'],
    ['plain PKCE', await pushed({ code_challenge_method: 'plain' }), 'invalid_request'],
    ['another response type', await pushed({ response_type: 'code id_token' }), 'unsupported_response_type'],
    ['another redirect URI', await pushed({ redirect_uri: `${callback}/x` }), 'invalid_request'],
    ['a secret', await push(svc, asked('bank')), 'invalid_client'],
    [
      'an assertion for an endpoint',
      await push(svc, { ...asked('bank'), ...(await sign(key, { aud: `${issuer}/oauth/token` })) }),
      'invalid_client',
    ],
    [
      'an assertion for several',
      await push(svc, { ...asked('bank'), ...(await sign(key, { aud: [issuer] })) }),
      'invalid_client',
    ],
    ['RS256', await push(svc, { ...asked('bank'), ...(await sign(weak)) }), 'invalid_client'],
  ]
  for (const [what, answer, error] of bad) t.equal(JSON.parse(answer.body).error, error, what)
  t.equal((await push(svc, { ...asked('bank'), ...(await sign(rsa)) })).statusCode, 201, 'PS256')

  const { request_uri } = (await pushed()).json()
  const { code = '' } = response(await person.allow({ client_id: 'bank', request_uri }))
  const redeem = async (by: Key | null) =>
    post(
      svc,
      '/oauth/token',
      { grant_type: 'authorization_code', code, redirect_uri: callback, code_verifier: verifier, ...(await sign()) },
      by ? { dpop: await proof(by, 'POST', '/oauth/token') } : {},
    )
  t.equal((await redeem(weak)).json().error, 'invalid_client', 'a proof by RS256')
  t.equal((await redeem(null)).json().error, 'invalid_grant', 'no proof')
})

t.test('accepts pushed authorization requests once, from their client', async (t) => {
  const { svc, person } = await start(t)
  const plain = await person.authorize(asked('pushing'))
  t.match(response(plain), { error: 'invalid_request', error_description: /must be used/ }, 'require_par')
  const first = await push(svc, asked('pushing'))
  t.match(first.json(), { request_uri: /^urn:ietf:params:oauth:request_uri:/, expires_in: Number })
  const { request_uri } = first.json()
  const foreign = await person.authorize({ client_id: 'web', request_uri })
  t.match(
    response(foreign),
    { error: 'invalid_request_object', code: undefined },
    "another client's request is rejected",
  )
  const used = await person.allow({ client_id: 'pushing', request_uri, scope: 'openid', state: 'another' })
  t.match(response(used), { code: String, state: 'the-state', iss: issuer }, 'parameters beside it are ignored')
  const again = await person.allow({ client_id: 'pushing', request_uri })
  t.match(response(again), { error: 'invalid_request_uri', code: undefined }, 'it works once')

  const free = await push(svc, asked('web'))
  t.ok(
    response(await person.allow({ client_id: 'web', request_uri: free.json().request_uri })).code,
    'available to other clients',
  )
  for (const fields of [
    { ...asked('web'), request_uri },
    { ...asked('web'), request: 'a.b.c' },
    { ...asked('web'), redirect_uri: 'https://evil.example/cb' },
    { ...asked('web'), scope: 'openid orders:write' },
    { ...asked('web'), client_secret: 'wrong' },
  ]) {
    const answer = await post(svc, '/oauth/par', { client_secret: secret, ...fields })
    t.ok([400, 401].includes(answer.statusCode), answer.body)
  }
  t.equal((await svc.app.inject('/oauth/par')).statusCode, 405)
})
