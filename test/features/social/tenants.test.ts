// engine: none
import { createServer, type IncomingMessage, request as plainRequest, type ServerResponse } from 'node:http'
import https from 'node:https'
import { syncBuiltinESMExports } from 'node:module'
import { text } from 'node:stream/consumers'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { failure, frontEnd, Visitor } from './visitor.ts'

const host = 'login.microsoftonline.com'

/** Answers calls to Microsoft on loopback: a provider of many tenants, which issue their own tokens. */
async function startMicrosoft(t: Test, metadata: object = {}) {
  const { privateKey, publicKey } = await generateKeyPair('RS256')
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'ms', alg: 'RS256', use: 'sig' }]
  /** The claims of the next ID token. */
  const next: { claims: Record<string, unknown> } = { claims: {} }
  const answers: Record<string, () => object | Promise<object>> = {
    '/common/v2.0/.well-known/openid-configuration': () => ({
      issuer: `https://${host}/{tenantid}/v2.0`,
      authorization_endpoint: `https://${host}/authorize`,
      token_endpoint: `https://${host}/token`,
      jwks_uri: `https://${host}/keys`,
      id_token_signing_alg_values_supported: ['RS256'],
      ...metadata,
    }),
    '/keys': () => ({ keys }),
    '/token': async () => {
      const token = new SignJWT(next.claims).setProtectedHeader({ alg: 'RS256', kid: 'ms' }).setAudience('svc')
      const id_token = await token.setIssuedAt().setExpirationTime('5m').sign(privateKey)
      return { access_token: 'x', token_type: 'bearer', expires_in: 60, id_token }
    },
  }
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    await text(request)
    const body = await answers[request.url ?? '']?.()
    response.writeHead(body ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? {}))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const address = server.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  const { request } = https
  https.request = ((url: URL, { lookup: _, ...options }: https.RequestOptions) =>
    url.hostname === host
      ? plainRequest(`http://127.0.0.1:${port}${url.pathname}`, { ...options, agent: undefined })
      : request(url, { lookup: _, ...options })) as typeof https.request
  syncBuiltinESMExports()
  t.teardown(() => {
    https.request = request
    syncBuiltinESMExports()
    server.closeAllConnections()
    server.close()
  })
  return next
}

const settings = {
  app: { frontend_url: frontEnd },
  social: { microsoft: { client_id: 'svc', client_secret: 'a-secret', tenant: 'common', trust_email: true } },
}

t.test('treats the same subject of two tenants as two users', async (t) => {
  const next = await startMicrosoft(t)
  const svc = await buildTestApp(t, { settings })
  const signIn = async (claims: object) => {
    const visitor = new Visitor(svc)
    const there = await visitor.begin('microsoft')
    next.claims = { nonce: there.searchParams.get('nonce'), name: 'X', email_verified: true, ...claims }
    const query = new URLSearchParams({ code: 'x', state: there.searchParams.get('state') ?? '' })
    const answer = await visitor.back(new URL(`http://localhost:8000/auth/microsoft/callback?${query}`))
    return { failure: failure(answer), user: await visitor.user() }
  }
  const of = (tenant: string) => ({ iss: `https://${host}/${tenant}/v2.0`, tid: tenant, sub: 'same' })
  const one = await signIn({ ...of('one'), email: 'one@example.com' })
  const two = await signIn({ ...of('two'), email: 'two@example.com' })
  t.equal(one.user?.email, 'one@example.com', String(one.failure))
  t.equal(two.user?.email, 'two@example.com', String(two.failure))
  t.equal((await signIn({ ...of('one'), email: 'new@example.com' })).user?.id, one.user?.id)
  t.equal((await signIn({ ...of('two'), email: 'one@example.com' })).user?.id, two.user?.id)
  for (const odd of [
    { ...of('one'), tid: 'two' },
    { ...of('one'), tid: undefined },
    { ...of('one'), iss: 'https://evil.example/one/v2.0' },
  ]) {
    const answer = await signIn({ ...odd, email: 'one@example.com' })
    t.match(answer, { failure: 'provider_error', user: null }, JSON.stringify(odd))
  }
  t.match((await svc.database.prisma.socialAccount.findMany({ orderBy: { id: 'asc' } })).slice(0, 2), [
    { providerId: 'same', issuer: `https://${host}/one/v2.0` },
    { providerId: 'same', issuer: `https://${host}/two/v2.0` },
  ])
})

t.test('calls no private address that a discovery document names', async (t) => {
  let connections = 0
  const inside = createServer((_request, response) => void response.end('{}')).on('connection', () => connections++)
  await new Promise<void>((done) => inside.listen(0, '127.0.0.1', done))
  t.teardown(() => inside.close())
  const address = inside.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  for (const origin of [
    `https://127.0.0.1:${port}`,
    `https://localhost:${port}`,
    `https://[::ffff:127.0.0.1]:${port}`,
    `https://0:${port}`,
    `http://127.0.0.1:${port}`,
    'https://169.254.169.254',
    'file:///etc',
  ]) {
    for (const endpoint of ['token_endpoint', 'jwks_uri', 'userinfo_endpoint']) {
      const next = await startMicrosoft(t, { [endpoint]: `${origin}/x` })
      const svc = await buildTestApp(t, { settings })
      const visitor = new Visitor(svc)
      const start = await visitor.open('/auth/microsoft/redirect')
      const there = new URL(String(start.headers.location))
      if (there.origin !== `https://${host}`) {
        t.equal(failure(start), 'provider_error', `${endpoint} ${origin}`)
        continue
      }
      const nonce = there.searchParams.get('nonce')
      next.claims = { iss: `https://${host}/one/v2.0`, tid: 'one', sub: 'x', nonce }
      const query = new URLSearchParams({ code: 'x', state: there.searchParams.get('state') ?? '' })
      const answer = await visitor.back(new URL(`http://localhost:8000/auth/microsoft/callback?${query}`))
      // svc does not call the user info of Microsoft.
      const isCalled = endpoint !== 'userinfo_endpoint' || !origin.startsWith('https:')
      t.equal(failure(answer), isCalled ? 'provider_error' : 'email_missing', `${endpoint} ${origin}`)
    }
  }
  t.equal(connections, 0)
})
