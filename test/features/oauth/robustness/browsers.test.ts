// engine: none
import t from 'tap'
import { buildTestApp } from '../../../support/app.ts'
import { callback, clients, oauthSettings, Person, request, response, token } from '../../../support/oauth.ts'
import { stopTime } from '../../../support/time.ts'

t.test('returns any state and nonce unchanged, or rejects them', async (t) => {
  const svc = await buildTestApp(t, {
    settings: { ...oauthSettings, rate_limits: { login: null } },
    clock: stopTime(t),
  })
  const person = new Person(svc, (await svc.createUser()).email)
  const texts = ['a b&c=d#e', '☃ \u202e', '"><script>', 'x'.repeat(50_000), '\0', '\r\nSet-Cookie: a=b', '%00%ff']
  await person.signIn()
  for (const text of texts) {
    const stop = await person.allow(request('own', { state: text, nonce: text, scope: 'openid' }))
    t.equal(response(stop).state, text, text.slice(0, 20))
    const answer = await token(svc, 'own', {
      grant_type: 'authorization_code',
      code: response(stop).code ?? '',
      redirect_uri: callback,
      code_verifier: 'a-random-code-verifier-of-the-tests-0123456789',
    })
    t.equal(answer.statusCode, 200, answer.body)
    const claims = JSON.parse(Buffer.from(answer.json().id_token.split('.')[1], 'base64url').toString())
    t.equal(claims.nonce, text)
  }
  // Bytes that are not valid text, and half of a surrogate pair.
  for (const bytes of ['%ff%fe', '%ed%a0%80', '%']) {
    const query = new URLSearchParams(request('own', { scope: 'openid' })).toString().replace('the-state', bytes)
    const { out } = await person.go(`/oauth/authorize?${query}`)
    t.ok(out?.searchParams.get('state'), bytes)
  }
})

t.test('allows pages of other origins only as their client lists them', async (t) => {
  const origins = ['https://app.example']
  const own = clients.map((client) => (client.client_id === 'tv' ? { ...client, cors_origins: origins } : client))
  const svc = await buildTestApp(t, {
    settings: { ...oauthSettings, clients: own, cors: { origins: ['https://api-only.example'] } },
    clock: stopTime(t),
  })
  const ask = (origin: string) =>
    svc.app.inject({ method: 'POST', url: '/oauth/device/code', headers: { origin }, payload: { client_id: 'tv' } })
  const allowed = await ask('https://app.example')
  t.equal(allowed.statusCode, 200)
  t.equal(allowed.headers['access-control-allow-origin'], 'https://app.example')
  t.equal(allowed.headers['access-control-allow-credentials'], 'true')
  const refused = await ask('https://api-only.example')
  t.equal(refused.statusCode, 400)
  t.equal(refused.headers['access-control-allow-origin'], undefined)
  const preflight = await svc.app.inject({
    method: 'OPTIONS',
    url: '/oauth/token',
    headers: {
      origin: 'https://app.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'dpop',
    },
  })
  t.equal(preflight.statusCode, 204)
  t.match(preflight.headers, { 'access-control-allow-methods': 'POST', 'access-control-allow-headers': 'dpop' })
  t.equal(
    (await svc.app.inject({ url: '/oauth/authorize', headers: { origin: 'https://api-only.example' } })).headers[
      'access-control-allow-origin'
    ],
    undefined,
  )
})

t.test('keeps two authorizations in one browser separate', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const person = new Person(svc, (await svc.createUser()).email)
  await person.signIn()
  const first = await person.authorize(request('web', { scope: 'openid' }))
  const second = await person.authorize(request('other', { scope: 'openid orders:write' }))
  t.match(second.answer.body, 'other.example')
  const allowed = await person.press(first, { decision: 'approve' })
  t.equal(allowed.out?.host, 'localhost:9999')
  t.match(response(allowed), { code: String })
  t.match(response(await person.press(second, { decision: 'deny' })), { error: 'access_denied' })
})

t.test('restricts the targets of forms to svc, and to the app of a private-use scheme', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const person = new Person(svc, (await svc.createUser()).email)
  const targets = ({ answer }: { answer: { headers: Record<string, unknown> } }) =>
    /form-action ([^;]*)/.exec(String(answer.headers['content-security-policy']))?.[1]
  const usual = targets(await person.go('/oauth/login'))
  t.equal(usual, "'self'")
  for (const [redirect_uri, source] of [
    ['com.example.app:/cb', "com.example.app: 'self'"],
    ['http://127.0.0.1:7777/cb', "'self'"],
    ['http://[::1]:7777/cb', "'self'"],
  ] as const) {
    const login = await person.authorize(request('app', { redirect_uri, scope: 'openid' }))
    t.equal(login.page, 'Sign in')
    t.equal(targets(login), source)
    t.match(login.answer.headers['content-security-policy'], /default-src 'none'.*frame-ancestors 'none'/)
  }
  await person.signIn()
  const consent = await person.authorize(request('other', { scope: 'openid', response_mode: 'form_post' }))
  t.equal(targets(consent), usual)
  const sends = await person.press(consent, { decision: 'approve' })
  t.equal(targets(sends), undefined, 'svc does not know the redirects of the client')
  t.match(sends.answer.headers['content-security-policy'], /script-src 'self' [^;]*'sha256-/, 'its script may run')
  t.match(sends.answer.headers, {
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  })
  const evil = await person.authorize(
    request('other', { redirect_uri: 'https://evil.example/cb', response_mode: 'form_post' }),
  )
  t.equal(evil.page, 'Error')
  t.equal(targets(evil), usual)
  const bye = `/oauth/logout?${new URLSearchParams({ client_id: 'other', post_logout_redirect_uri: 'https://evil.example/' })}`
  t.equal(targets(await person.go(bye)), usual)
  t.equal(targets(await new Person(svc, '').go('/oauth/login?return_to=/oauth/interaction/unknown')), usual)
})
