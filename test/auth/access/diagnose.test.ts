// engine: none
import t from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'

/** The explanations of an event in the log, with the keys to change. */
const said = ({ logs }: TestApp, event: string) =>
  logs
    .map((line): { level: string; msg: string; config_key: string | null } => JSON.parse(line))
    .filter(({ msg }) => msg.startsWith(event))

t.test('logs why authentication failed in development', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(email)
  const foreign = { origin: 'http://localhost:5174', referer: 'http://localhost:5174/' }
  await spa.get('/api/user', foreign)
  await spa.get('/api/user', { origin: undefined, referer: 'https://app.example.com/reset-password/a-secret-path' })
  await spa.get('/api/user', { origin: undefined, referer: undefined })
  await svc.bearer('1|a-secret-that-is-wrong', 'GET', '/api/user')
  await svc.bearer(null, 'GET', '/api/user')
  await svc.browser().get('/api/user')
  await spa.post('/logout')
  await spa.get('/api/user')
  const lines = said(svc, 'authentication failed')
  const reasons = lines.map(({ msg }) => msg)
  t.match(reasons, [
    /http:\/\/localhost:5174 is not in the stateful list.*; see stateful$/,
    /https:\/\/app\.example\.com is not in the stateful list.*; see stateful$/,
    /has neither Origin nor Referer/,
    /The token is unknown, revoked, expired or malformed$/,
    /has neither a session cookie nor/,
    /has no session cookie\. Call GET \/svc\/csrf-cookie/,
    /anonymous, ended or expired/,
  ])
  t.strictSame(
    lines.map(({ level, config_key }) => [level, config_key]),
    ['stateful', 'stateful', null, null, null, null, null].map((key) => ['warn', key]),
  )
  t.equal(reasons.length, 7, 'and nothing for an authenticated request')
  t.notMatch(reasons.join(), 'a-secret')
})

t.test('logs why a CSRF check failed in development', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(email)
  const other = svc.browser()
  await other.get('/svc/csrf-cookie')
  const theirs = (await other.cookie('XSRF-TOKEN')) ?? ''
  const cookies = await spa.jar.getCookieString('http://localhost:8000/')
  const session = encodeURIComponent((await spa.cookie('svc_session')) ?? '')
  const cases: [name: string, headers: Record<string, string | undefined>, reason: RegExp, key: string | null][] = [
    ['no token', { 'x-xsrf-token': undefined }, /has no CSRF token.*; see session\.domain$/, 'session.domain'],
    ['another session', { 'x-xsrf-token': theirs }, /differs from the cookie XSRF-TOKEN/, null],
    [
      'two cookies',
      { cookie: `XSRF-TOKEN=theirs; ${cookies}`, 'x-xsrf-token': 'theirs' },
      /has 2 cookies XSRF-TOKEN.*; see session\.xsrf_cookie$/,
      'session.xsrf_cookie',
    ],
    [
      "another application's cookie",
      { cookie: `svc_session=${session}; XSRF-TOKEN=${theirs}`, 'x-xsrf-token': theirs },
      /Another application on this host may set a cookie with the same name/,
      'session.xsrf_cookie',
    ],
    [
      'no cookie with a token',
      { cookie: `svc_session=${session}`, 'x-xsrf-token': theirs },
      /has no cookie XSRF-TOKEN/,
      'session.domain',
    ],
    ['X-CSRF-TOKEN first', { 'x-csrf-token': 'x' }, /reads the field _token first, then X-CSRF-TOKEN/, null],
    ['no cookie', { cookie: undefined }, /no valid session cookie/, null],
    [
      'a foreign page',
      { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example', referer: undefined },
      /a page of another origin \(https:\/\/evil\.example\).*; see stateful$/,
      'stateful',
    ],
  ]
  for (const [name, headers, reason, key] of cases) {
    const start = svc.logs.length
    const { statusCode } = await spa.post('/forgot-password', { email }, headers)
    t.equal(statusCode, 419, name)
    const lines = said({ ...svc, logs: svc.logs.slice(start) }, 'CSRF check failed')
    t.match(lines, [{ level: 'warn', msg: reason, config_key: key }], name)
    t.equal(lines.length, 1, name)
  }
  const cookie = (await spa.cookie('svc_session')) ?? ''
  t.ok(cookie, 'there is a session')
  t.notMatch(svc.logs.join(), cookie, 'the log has no session id')
  t.notMatch(svc.logs.join(), (await spa.cookie('XSRF-TOKEN')) ?? '', 'the log has no token')
})

t.test('logs why the origin of each request was refused in development', async (t) => {
  const preflight = (svc: TestApp, origin: string, url = '/api/user') =>
    svc.app.inject({ method: 'OPTIONS', url, headers: { origin, 'access-control-request-method': 'PUT' } })
  const cases: [settings: Record<string, unknown>, origin: string, reason: RegExp, key: string][] = [
    [
      {},
      'http://localhost:5174',
      /does not match http:\/\/localhost:5174\. If it is yours, set stateful: \[localhost:5174\]; see stateful$/,
      'stateful',
    ],
    [
      {},
      'http://a@evil.example/secret',
      /does not match http:\/\/evil\.example\. If it is yours, set stateful: \[evil\.example\]; see stateful$/,
      'stateful',
    ],
    [{}, 'null', /does not match an invalid origin; see stateful$/, 'stateful'],
    [
      { cors: { origins: ['https://a.example'] } },
      'http://localhost:5173',
      /set cors: \{ origins: \[https:\/\/a\.example, http:\/\/localhost:5173\] \}; see cors/,
      'cors.origins',
    ],
    [
      { stateful: ['app.example', '*.dev.example:8080'] },
      'http://[::1]:5174',
      /set stateful: \[app\.example, "\*\.dev\.example:8080", "\[::1\]:5174"\]; see stateful/,
      'stateful',
    ],
  ]
  for (const [settings, origin, reason, key] of cases) {
    const svc = await buildTestApp(t, { settings })
    const refused = await preflight(svc, origin)
    t.equal(refused.headers['access-control-allow-origin'], undefined, origin)
    t.match(said(svc, 'origin refused'), [{ level: 'warn', msg: reason, config_key: key }], origin)
    await preflight(svc, 'http://localhost:8000', '/oauth/token')
    await svc.app.inject({ url: '/api/user', headers: { origin: 'http://localhost:8000' } })
    t.equal(said(svc, 'origin refused').length, 1, 'only refused origins are logged')
    for (const method of ['GET', 'POST'] as const)
      await svc.app.inject({ method, url: '/api/user', headers: { origin }, ...(method === 'POST' && { payload: {} }) })
    t.match(said(svc, 'origin refused').slice(1), [{ msg: reason }, { msg: reason }], 'without a preflight too')
  }
})

t.test('logs no reasons when guard.diagnose is off', async (t) => {
  const svc = await buildTestApp(t, { settings: { guard: { diagnose: false }, stateful_api: false } })
  t.equal((await svc.bearer(null, 'GET', '/api/user')).statusCode, 401)
  const origin = 'https://evil.example'
  const headers = { origin, 'access-control-request-method': 'PUT' }
  await svc.app.inject({ method: 'OPTIONS', url: '/api/user', headers })
  t.equal((await svc.app.inject({ method: 'POST', url: '/login', payload: {} })).statusCode, 419)
  t.notMatch(svc.logs.join(), /authentication failed|CSRF check failed|origin refused/)
})
