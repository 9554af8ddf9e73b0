// engine: none
// lane: all
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { AuthorizationCode, ClientCredentials } from 'simple-oauth2'
import t, { type Test } from 'tap'
import { ada, startWithAda } from '../support/listening.ts'
import { callback, oauthSettings, Person, secret, type WalkResult } from '../support/oauth.ts'
import { remoteBrowser } from '../support/remote.ts'

/** svc as an operator starts it, with Ada in a browser. */
async function begin(t: Test) {
  const { url } = await startWithAda(t, {}, oauthSettings)
  const browser = remoteBrowser(url, { origin: url, url, xsrf: false })
  return { url, person: new Person(browser, ada.email, url) }
}

/** The final address of a person whom a client redirects. */
async function walk(person: Person, { pathname, search }: URL): Promise<URL> {
  const stop = await person.decide(await person.go(pathname + search))
  return landed(stop)
}

function landed({ out, answer }: WalkResult): URL {
  if (!out) throw new Error(answer.body)
  return out
}

const insecure = { execute: [client.allowInsecureRequests] }

t.test('openid-client works by discovery alone', async (t) => {
  const { url, person } = await begin(t)
  const server = new URL(url)

  await t.test('public client: code with PKCE, userinfo, refresh, revocation, sign-out', async (t) => {
    const config = await client.discovery(server, 'spa', undefined, client.None(), insecure)
    t.ok(config.serverMetadata().supportsPKCE())
    const pkceCodeVerifier = client.randomPKCECodeVerifier()
    const [expectedState, expectedNonce] = [client.randomState(), client.randomNonce()]
    const address = client.buildAuthorizationUrl(config, {
      redirect_uri: 'https://spa.example/cb',
      scope: 'openid email orders:read',
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      state: expectedState,
      nonce: expectedNonce,
    })
    const back = await walk(person, address)
    const checks = { pkceCodeVerifier, expectedState, expectedNonce, idTokenExpected: true }
    const tokens = await client.authorizationCodeGrant(config, back, checks)
    const { sub = '' } = tokens.claims() ?? {}
    const info = await client.fetchUserInfo(config, tokens.access_token, sub)
    t.match(info, { sub, email: ada.email, email_verified: true })
    const renewed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '')
    t.match(renewed, { access_token: /./, refresh_token: /./, id_token: /./ })
    await client.tokenRevocation(config, renewed.refresh_token ?? '')
    await t.rejects(client.refreshTokenGrant(config, renewed.refresh_token ?? ''), 'revoked')
    await t.rejects(client.fetchUserInfo(config, renewed.access_token, sub))
    const end = client.buildEndSessionUrl(config, { id_token_hint: tokens.id_token ?? '' })
    t.equal((await person.go(end.pathname + end.search)).page, 'Sign out')
    await t.rejects(
      client.authorizationCodeGrant(
        config,
        new URL(back.href.replace(/iss=[^&]+/, 'iss=https%3A%2F%2Fevil.example')),
        checks,
      ),
      'a response of another server: mix-up',
    )
  })

  await t.test('confidential client: secret by either method', async (t) => {
    for (const method of [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)]) {
      const config = await client.discovery(server, 'web', undefined, method, insecure)
      const expectedState = client.randomState()
      const query = { redirect_uri: callback, scope: 'openid', state: expectedState }
      const back = await walk(person, client.buildAuthorizationUrl(config, query))
      const tokens = await client.authorizationCodeGrant(config, back, { expectedState })
      t.match(await client.tokenIntrospection(config, tokens.access_token), { active: true, client_id: 'web' })
      t.match(await client.refreshTokenGrant(config, tokens.refresh_token ?? ''), { refresh_token: /./ })
      const pushed = await client.buildAuthorizationUrlWithPAR(config, { ...query, scope: 'openid orders:read' })
      t.match(pushed.searchParams.get('request_uri'), /^urn:/)
      t.match((await walk(person, pushed)).searchParams.get('code'), /./)
    }
  })

  await t.test('machine client: client credentials', async (t) => {
    const config = await client.discovery(server, 'machine', undefined, client.ClientSecretBasic(secret), insecure)
    t.match(await client.clientCredentialsGrant(config), { scope: 'orders:read', token_type: 'bearer' })
    await t.rejects(client.clientCredentialsGrant(config, { scope: 'stock:read' }), 'an unlisted scope')
  })

  await t.test('device: polls until the user allows it', async (t) => {
    const config = await client.discovery(server, 'tv', undefined, client.None(), insecure)
    const begun = await client.initiateDeviceAuthorization(config, {})
    t.equal(begun.interval, 5)
    const polled = client.pollDeviceAuthorizationGrant(config, begun)
    const { pathname, search } = new URL(begun.verification_uri_complete ?? '')
    const confirm = await person.press(await person.go(pathname + search), { user_code: begun.user_code })
    const done = await person.decide(await person.press(confirm, { confirm: 'yes' }))
    t.match(done.answer.body, 'Your device is connected')
    t.match(await polled, { access_token: /./, refresh_token: /./, scope: 'orders:read' })
  })
})

t.test('oauth4webapi accepts every response strictly', async (t) => {
  const { url, person } = await begin(t)
  const options = { [oauth.allowInsecureRequests]: true }
  for (const algorithm of ['oidc', 'oauth2'] as const) {
    const found = await oauth.discoveryRequest(new URL(url), { ...options, algorithm })
    const server = await oauth.processDiscoveryResponse(new URL(url), found)
    const self: oauth.Client = { client_id: 'spa' }
    const verifier = oauth.generateRandomCodeVerifier()
    const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()]
    const address = new URL(server.authorization_endpoint ?? '')
    address.search = new URLSearchParams({
      client_id: 'spa',
      redirect_uri: 'https://spa.example/cb',
      response_type: 'code',
      scope: 'openid profile',
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    }).toString()
    const params = oauth.validateAuthResponse(server, self, await walk(person, address), state)
    const answer = await oauth.authorizationCodeGrantRequest(
      server,
      self,
      oauth.None(),
      params,
      'https://spa.example/cb',
      verifier,
      options,
    )
    const tokens = await oauth.processAuthorizationCodeResponse(server, self, answer, {
      expectedNonce: nonce,
      requireIdToken: true,
    })
    const { sub = '' } = oauth.getValidatedIdTokenClaims(tokens) ?? {}
    const info = await oauth.userInfoRequest(server, self, tokens.access_token, options)
    t.match(await oauth.processUserInfoResponse(server, self, sub, info), { name: 'Ada' }, algorithm)

    const request = new Request(`${url}/api/orders`, { headers: { authorization: `Bearer ${tokens.access_token}` } })
    const claims = await oauth.validateJwtAccessToken(server, request, url, options)
    t.match(claims, { sub, client_id: 'spa', scope: 'openid profile' }, 'an API that follows RFC 9068')
  }
})

t.test('simple-oauth2 works by RFC 6749 alone', async (t) => {
  const { url, person } = await begin(t)
  const auth = { tokenHost: url, tokenPath: '/oauth/token', revokePath: '/oauth/revoke' }
  const withPage = { ...auth, authorizePath: '/oauth/authorize' }
  // The response to a revocation is empty (RFC 7009 section 2.2), and not JSON.
  const http = { json: 'force' } as const
  const web = new AuthorizationCode({ client: { id: 'web', secret }, auth: withPage, http })
  const address = web.authorizeURL({ redirect_uri: callback, scope: ['openid', 'orders:read'], state: 'x' })
  const back = await walk(person, new URL(address))
  const accessToken = await web.getToken({ code: back.searchParams.get('code') ?? '', redirect_uri: callback })
  t.match(accessToken.token, { token_type: 'Bearer', scope: 'openid orders:read', expires_at: Date })
  const renewed = await accessToken.refresh()
  t.not(renewed.token.refresh_token, accessToken.token.refresh_token)
  await renewed.revokeAll()
  await t.rejects(renewed.refresh())

  const machine = new ClientCredentials({ client: { id: 'machine', secret }, auth, options: { bodyFormat: 'json' } })
  t.match((await machine.getToken({})).token, { scope: 'orders:read' }, 'and JSON')
})
