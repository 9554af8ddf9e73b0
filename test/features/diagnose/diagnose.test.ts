// engine: none
import t from 'tap'
import { buildTestApp, type Settings, type TestApp } from '../../support/app.ts'

interface Finding {
  check: string
  ok: boolean
  message: string
  key: string | null
}

type Headers = Record<string, string | undefined>

const ask = async (svc: TestApp, headers: Headers = {}, url = '/svc/diagnose') => {
  const sent = Object.fromEntries(Object.entries({ host: 'localhost:8000', ...headers }).filter(([, value]) => value))
  const answer = await svc.app.inject({ url, headers: sent as Record<string, string>, remoteAddress: '192.0.2.9' })
  const findings: Finding[] = /json/.test(String(answer.headers['content-type'])) ? (answer.json().findings ?? []) : []
  return { answer, of: (check: string) => findings.find((finding) => finding.check === check) }
}

const spa = { origin: 'http://localhost:5173', referer: 'http://localhost:5173/page' }

t.test('finds no problem for a page that is signed in and sends its CSRF token', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const browser = svc.browser()
  await browser.signIn(email)
  const headers = { 'x-xsrf-token': await browser.cookie('XSRF-TOKEN'), host: 'localhost:8000' }
  const answer = await browser.get(`/svc/diagnose?now=${svc.clock.now()}`, headers)
  t.equal(answer.statusCode, 200)
  t.strictSame(
    answer.json().findings.filter(({ ok }: Finding) => !ok),
    [],
  )
  t.equal(answer.json().ok, true)
  t.equal(answer.headers['access-control-allow-origin'], 'http://localhost:5173')
  t.equal(answer.headers['access-control-allow-credentials'], 'true')
  const secrets = [email, (await browser.cookie('svc_session')) ?? '', headers['x-xsrf-token'] ?? '']
  for (const secret of secrets) t.notOk(secret === '' || answer.body.includes(secret), 'the answer has no identity')
})

t.test('names each problem with the key to change', async (t) => {
  const cases: [
    name: string,
    settings: Settings,
    headers: Headers,
    check: string,
    message: RegExp,
    key: string | null,
  ][] = [
    ['unknown page', {}, { origin: 'https://app.example' }, 'origin', /not in the stateful list/, 'stateful'],
    ['no page', {}, {}, 'origin', /neither Origin nor Referer/, null],
    ['opaque page', {}, { origin: 'null' }, 'origin', /opaque origin/, null],
    ['two pages', {}, { ...spa, referer: 'http://localhost:3000/x' }, 'origin', /differ/, null],
    ['tokens only', { stateful_api: false }, spa, 'origin', /bearer tokens only/, 'stateful_api'],
    [
      'another name of this machine',
      {},
      { origin: 'http://127.0.0.1:5173' },
      'origin',
      /The list has localhost:5173/,
      'stateful',
    ],
    [
      '127.0.0.1 and localhost',
      {},
      { origin: 'http://localhost:5173', host: '127.0.0.1:8000' },
      'host',
      /page is on localhost but calls svc on 127\.0\.0\.1/,
      'app.url',
    ],
    ['another host', {}, { host: 'svc.internal:8000' }, 'host', /came to svc\.internal:8000, but app\.url/, 'app.url'],
    [
      'a host behind an untrusted proxy',
      {},
      { host: '10.0.0.4:8000', 'x-forwarded-host': 'localhost:8000' },
      'host',
      /but app\.url is/,
      'server.trust_proxy',
    ],
    ['CORS', {}, { origin: 'https://app.example' }, 'cors', /does not match https:\/\/app\.example/, 'stateful'],
    ['CORS list', { cors: { origins: [] } }, spa, 'cors', /cors\.origins does not list/, 'cors.origins'],
    ['no cookie', {}, spa, 'cookie', /no session cookie/, null],
    [
      'no credentials',
      { cors: { supports_credentials: false } },
      spa,
      'cookie',
      /no session cookie/,
      'cors.supports_credentials',
    ],
    ['foreign cookie', {}, { ...spa, cookie: 'svc_session=x.y' }, 'cookie', /did not issue/, 'session.cookie'],
    [
      'two cookies',
      {},
      { ...spa, cookie: 'svc_session=a; svc_session=b' },
      'cookie',
      /more than once/,
      'session.domain',
    ],
    ['no token', {}, spa, 'csrf', /no valid session cookie/, null],
    [
      'another site',
      {},
      { origin: 'https://app.example', 'sec-fetch-site': 'cross-site' },
      'same_site',
      /SameSite=lax/,
      'session.same_site',
    ],
    [
      'another subdomain',
      { app: { url: 'https://id.corp.example' } },
      { origin: 'https://app.corp.example', host: 'id.corp.example' },
      'cookie_domain',
      /cannot read the cookie XSRF-TOKEN/,
      'session.domain',
    ],
    [
      'a host outside the domain',
      { app: { url: 'https://id.corp.example' }, session: { domain: '.corp.example' } },
      { host: 'localhost:8000' },
      'cookie_domain',
      /browsers reject them/,
      'session.domain',
    ],
    [
      'untrusted proxy',
      {},
      { 'x-forwarded-for': '203.0.113.5' },
      'proxy',
      /x-forwarded-for\) from an address that is not trusted/,
      'server.trust_proxy',
    ],
    [
      'scheme of the proxy',
      { app: { url: 'https://id.corp.example' }, server: { trust_proxy: ['192.0.2.9'] } },
      { host: 'id.corp.example', 'x-forwarded-proto': 'http' },
      'proxy',
      /reports http in X-Forwarded-Proto, but app\.url is https/,
      'app.url',
    ],
  ]
  const started = new Map<string, TestApp>()
  for (const [name, settings, headers, check, message, key] of cases) {
    const kind = JSON.stringify(settings)
    const svc = started.get(kind) ?? (await buildTestApp(t, { settings }))
    started.set(kind, svc)
    const { answer, of } = await ask(svc, headers)
    t.equal(answer.statusCode, 200, name)
    t.match(of(check), { ok: false, message, key }, name)
    t.equal(answer.json().ok, false, name)
    t.notMatch(answer.body, /192\.0\.2\.9|10\.0\.0\.0/, 'the answer does not name the address of the proxy')
  }
})

t.test('compares the CSRF token with the session', async (t) => {
  const svc = await buildTestApp(t)
  const browser = svc.browser()
  await browser.get('/svc/csrf-cookie')
  const csrf = async (headers: Headers) =>
    (await browser.get('/svc/diagnose', headers)).json().findings.find(({ check }: Finding) => check === 'csrf')
  t.match(await csrf({}), { ok: false, message: /has no CSRF token/, key: 'session.domain' })
  t.match(await csrf({ 'x-xsrf-token': 'wrong' }), { ok: false, message: /differs from the cookie XSRF-TOKEN/ })
  t.match(await csrf({ 'x-xsrf-token': await browser.cookie('XSRF-TOKEN') }), { ok: true, key: null })
  t.match(await csrf({ 'sec-fetch-site': 'same-origin' }), { ok: true })
})

t.test('compares the clocks', async (t) => {
  const svc = await buildTestApp(t)
  const clock = async (now: number | string) => (await ask(svc, spa, `/svc/diagnose?now=${now}`)).of('clock')
  const now = svc.clock.now()
  t.match(await clock(now + 30_000), { ok: true })
  t.match(await clock(now + 300_000), { ok: false, message: /300 seconds ahead of svc/ })
  t.match(await clock(new Date(now - 90_000).toISOString()), { ok: false, message: /90 seconds behind svc/ })
  t.match((await ask(svc, spa)).of('clock'), { ok: true, message: /Not compared/ })
})

t.test('shows a browser a page that escapes what the request contains', async (t) => {
  const svc = await buildTestApp(t)
  const hostile = { origin: 'https://"><script>alert(1)</script>', host: 'a"><img src=x onerror=alert(1)>' }
  const { answer } = await ask(svc, { accept: 'text/html', ...hostile })
  t.equal(answer.statusCode, 200)
  t.match(answer.headers['content-type'], /^text\/html/)
  t.match(answer.headers['content-security-policy'], /default-src 'none'/)
  t.match(answer.body, /Problem: origin/)
  t.match(answer.body, /<code>stateful<\/code>/)
  t.notMatch(answer.body, /<script|<img/)
  t.equal(answer.headers['access-control-allow-origin'], '*', 'no header repeats the origin')
  t.match(answer.headers.vary, /Accept/)
})

t.test('rejects bad input', async (t) => {
  const svc = await buildTestApp(t)
  for (const query of [
    'now=soon',
    'now=1e999',
    'now=-1',
    'now=99999999999999999',
    'now=%00',
    'now=1&now=2',
    `now=${'1'.repeat(50)}`,
    'now=2026-13-45T00:00:00Z',
  ])
    t.equal((await ask(svc, spa, `/svc/diagnose?${query}`)).answer.statusCode, 422, query)
  for (const headers of [
    { origin: 'http://[' },
    { origin: '\u00ff' },
    { host: '///' },
    { cookie: ';;=;%%' },
    { origin: 'x'.repeat(8_000) },
  ])
    t.equal((await ask(svc, headers)).answer.statusCode, 200, JSON.stringify(headers).slice(0, 50))
  t.equal((await svc.app.inject({ method: 'POST', url: '/svc/diagnose' })).statusCode, 405)
})

t.test('does not exist without guard.diagnose, which production has off by default', async (t) => {
  const url = 'https://auth.example.com'
  for (const settings of [
    { guard: { diagnose: false } },
    { app: { environment: 'production', url }, mail: { url: 'file:mails' } },
  ]) {
    const svc = await buildTestApp(t, { settings })
    const { answer } = await ask(svc, { origin: 'https://evil.example' })
    t.equal(answer.statusCode, 404)
    t.strictSame(answer.json(), { message: 'Not found.', code: 'not_found' })
    t.equal(answer.headers['access-control-allow-origin'], undefined)
    const preflight = { origin: 'https://evil.example', 'access-control-request-method': 'GET' }
    const refused = await svc.app.inject({ method: 'OPTIONS', url: '/svc/diagnose', headers: preflight })
    t.equal(refused.headers['access-control-allow-origin'], undefined)
  }
  const enabled = { app: { environment: 'production', url }, mail: { url: 'file:mails' }, guard: { diagnose: true } }
  const { answer } = await ask(await buildTestApp(t, { settings: enabled }), { host: 'auth.example.com' })
  t.equal(answer.statusCode, 200)
})

t.test('finds no problem in a tab, in which no page calls svc', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const browser = svc.browser()
  const html = { accept: 'text/html', host: 'localhost:8000', origin: undefined }
  for (const referer of [undefined, 'https://wiki.example/svc', 'http://localhost:8000/account']) {
    for (const signedIn of [false, true]) {
      if (signedIn) await browser.signIn(email)
      const page = await browser.get('/svc/diagnose', { ...html, referer })
      t.match(page.body, 'Not checked, because no page calls svc here.')
      t.notMatch(page.body, /<dt>Problem/, `${referer} ${signedIn}`)
    }
  }
})
