// engine: none
import t from 'tap'
import { buildTestApp, type TestApp, testConfig } from '../../support/app.ts'
import { Browser } from '../../support/browser.ts'
import { cookiesOf } from '../session/set-cookies.ts'

const page = 'http://localhost:8000'
const form = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' }
const navigation = { accept: 'text/html', origin: undefined, referer: undefined, 'sec-fetch-site': 'same-origin' }

const encode = (fields: Record<string, string>) => Buffer.from(String(new URLSearchParams(fields)))
const hiddenToken = (html: string) => /name="_token" value="([^"]*)"/.exec(html)?.[1] ?? ''

/** A browser on svc's own page that only submits forms: no script, so no XSRF header. */
const openBrowser = (svc: TestApp) => new Browser(svc.app, { origin: page, xsrf: false })

async function signIn(browser: Browser, email: string, password = 'correct horse') {
  const opened = await browser.get('/test-login', { ...navigation, 'sec-fetch-site': 'none' })
  return browser.post('/test-login', encode({ _token: hiddenToken(opened.body), email, password }), form)
}

t.test('signs a visitor in by form, shows a token once, tries it and revokes it', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const browser = openBrowser(svc)
  const answer = await signIn(browser, user.email)
  t.equal(answer.statusCode, 302, answer.body)
  t.equal(answer.headers.location, '/test-tokens')
  t.match(cookiesOf(answer).svc_flash, { httpOnly: true, sameSite: 'lax', path: '/', secure: false })
  const shown = await browser.get('/test-tokens', navigation)
  t.equal(shown.statusCode, 200)
  t.match(shown.headers['content-type'], 'text/html')
  const token = /<code id="token">([^<]+)<\/code>/.exec(shown.body)?.[1] ?? ''
  t.match(token, /^\d+\|[A-Za-z0-9]{48}$/)
  t.match(shown.body, /test-token \(\d+\)/)
  const again = await browser.get('/test-tokens', navigation)
  t.notMatch(again.body, token, 'shown once')
  t.notMatch(again.body, 'id="flash"')
  t.equal(again.headers['cache-control'], 'no-store')

  const link = /id="token-link" href="([^"]+)"/.exec(shown.body)?.[1] ?? ''
  t.equal(link, `/test-user?token=${encodeURIComponent(token)}`)
  t.equal((await svc.app.inject(link)).json().id, user.id, 'the link works without a cookie')
  t.equal((await svc.bearer(token, 'GET', '/api/user')).json().id, user.id, 'and so does the header')

  const [id] = token.split('|')
  const revoke = encode({ _method: 'DELETE', _token: hiddenToken(shown.body) })
  const bad = encode({ _method: 'DELETE', _token: 'wrong' })
  t.equal((await browser.post(`/test-tokens/${id}`, bad, form)).statusCode, 419)
  const revoked = await browser.post(`/test-tokens/${id}`, revoke, form)
  t.equal(revoked.statusCode, 302, revoked.body)
  t.equal(revoked.headers.location, '/test-tokens')
  const after = await browser.get('/test-tokens', navigation)
  t.match(after.body, 'Token revoked.')
  t.notMatch(after.body, /test-token \(/)
  t.equal((await svc.app.inject(link)).statusCode, 401)
})

t.test('accepts a token in a link on one route only', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const token = encodeURIComponent(await svc.createToken(user))
  t.equal((await svc.app.inject(`/test-user?token=${token}`)).statusCode, 200)
  for (const url of ['/api/user', '/test-tokens', '/api/tokens', '/orders']) {
    t.equal((await svc.app.inject(`${url}?token=${token}`)).statusCode, 401, url)
  }
  for (const query of ['token=', 'token', 'Token=x', `token=wrong&token=${token}`, 'token=%E0%A4%A', 'token[]=x', '']) {
    t.equal((await svc.app.inject(`/test-user?${query}`)).statusCode, 401, query)
  }
  const browser = openBrowser(svc)
  await signIn(browser, user.email)
  const other = await svc.createToken(await svc.createUser())
  const url = `/test-user?token=${encodeURIComponent(other)}`
  for (const headers of [navigation, { origin: undefined }, { referer: undefined }]) {
    t.equal((await browser.get(url, headers)).json().id, user.id, 'a session takes precedence over the link')
  }
  t.equal((await browser.get('/test-user?token=1|wrong', navigation)).statusCode, 200)
})

t.test('accepts same-origin navigation as first-party only here', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const browser = openBrowser(svc)
  await signIn(browser, user.email)
  t.equal((await browser.get('/test-user', navigation)).statusCode, 200)
  t.equal((await browser.get('/test-tokens', navigation)).statusCode, 200)
  for (const url of ['/api/user', '/api/tokens', '/orders']) {
    t.equal((await browser.get(url, navigation)).statusCode, 401, url)
  }
  for (const site of ['same-site', 'cross-site', 'none', undefined]) {
    t.equal((await browser.get('/test-user', { ...navigation, 'sec-fetch-site': site })).statusCode, 401, String(site))
  }
})

t.test('shows the form again after a wrong password, and rejects users with a second factor', async (t) => {
  const svc = await buildTestApp(t)
  const [user, careful] = [await svc.createUser(), await svc.createUser()]
  const data = { twoFactorConfirmedAt: new Date() }
  await svc.database.prisma.user.update({ where: { id: BigInt(careful.id) }, data })
  const browser = openBrowser(svc)
  for (const [email, password] of [
    [user.email, 'wrong'],
    ['unknown@example.com', 'correct horse'],
    [careful.email, 'correct horse'],
  ] as const) {
    const answer = await signIn(browser, email, password)
    t.equal(answer.statusCode, 401)
    t.match(answer.headers['content-type'], 'text/html')
    t.match(answer.body, 'These credentials do not match our records.')
    t.notMatch(answer.body, email)
    t.ok(hiddenToken(answer.body))
  }
  t.equal(
    (await browser.post('/test-login', encode({ email: user.email, password: 'correct horse' }), form)).statusCode,
    419,
  )
  t.equal(await svc.database.prisma.session.count({ where: { userId: { not: null } } }), 0)
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
})

t.test('rejects an unverified address where the configuration requires a verified one', async (t) => {
  const svc = await buildTestApp(t, { settings: { registration: { require_verified_email: true } } })
  const { email } = await svc.createUser({ verified: false })
  const answer = await signIn(openBrowser(svc), email)
  t.equal(answer.statusCode, 401)
  t.match(answer.body, 'Your email address is not verified.')
  t.equal(await svc.database.prisma.session.count({ where: { userId: { not: null } } }), 0)
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
})

/** A page without svc's script, which every page with a button has. */
const withoutOwnScript = (body: string): string =>
  body.replace('<script type="module" src="/assets/buttons.js"></script>', '')

t.test('runs no foreign scripts on the page, and forbids framing', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const evil = '"><script>alert(1)</script><img src=x onerror=alert(1)>\'`{{7*7}}<%= 7*7 %>'
  await svc.createToken(user, { name: evil })
  const browser = openBrowser(svc)
  await signIn(browser, user.email)
  const shown = await browser.get('/test-tokens', navigation)
  t.match(shown.body, '&lt;script&gt;alert(1)&lt;/script&gt;')
  t.match(shown.body, '&lt;%= 7*7 %&gt;')
  for (const text of ['<script', '<img', evil]) t.notOk(withoutOwnScript(shown.body).includes(text), text)
  const flash = Buffer.from(JSON.stringify({ message: evil, token: evil })).toString('base64url')
  const own = `svc_session=${await browser.cookie('svc_session')}`
  const planted = await browser.get('/test-tokens', { ...navigation, cookie: `${own}; svc_flash=${flash}` })
  for (const text of ['<script', '<img', evil]) t.notOk(withoutOwnScript(planted.body).includes(text), text)
  for (const value of ['x', 'bnVsbA', 'W10', 'e30', '%00', Buffer.from('{"message":{"a":1}}').toString('base64url')]) {
    const answer = await browser.get('/test-tokens', { ...navigation, cookie: `${own}; svc_flash=${value}` })
    t.equal(answer.statusCode, 200, value)
  }
  for (const answer of [shown, await browser.get('/test-login'), await browser.post('/test-login', {}, form)]) {
    const { headers } = answer
    t.equal(headers['referrer-policy'], 'same-origin')
    t.equal(headers['x-content-type-options'], 'nosniff')
    t.equal(headers['x-frame-options'], 'DENY')
    const csp = String(headers['content-security-policy'])
    for (const rule of ["default-src 'none'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"]) {
      t.ok(csp.includes(rule), rule)
    }
    t.notMatch(csp, /unsafe|\*/)
  }
  const nonce = /<style nonce="([^"]+)">/.exec(shown.body)?.[1] ?? ''
  t.ok(String(shown.headers['content-security-policy']).includes(`'nonce-${nonce}'`))
  t.notOk(planted.body.includes(nonce), 'each answer has its own nonce')
})

t.test("answers 404 for another user's token and for invalid ids", async (t) => {
  const svc = await buildTestApp(t)
  const [user, other] = [await svc.createUser(), await svc.createUser()]
  const [id] = (await svc.createToken(other)).split('|')
  const browser = openBrowser(svc)
  await signIn(browser, user.email)
  for (const wrong of [id, '0', '999', '-1', '1e3', '9'.repeat(19), '9'.repeat(40), '%00', 'current']) {
    const answer = await browser.send('DELETE', `/test-tokens/${wrong}`, undefined, navigation)
    t.equal(answer.statusCode, 404, String(wrong))
  }
  t.equal((await svc.app.inject({ method: 'DELETE', url: `/test-tokens/${id}` })).statusCode, 401)
  t.equal(await svc.database.prisma.personalAccessToken.count({ where: { tokenableId: BigInt(other.id) } }), 1)
})

t.test('exists only in development', async (t) => {
  const svc = await buildTestApp(t, { settings: { test_page: false } })
  for (const url of ['/test-login', '/test-user', '/test-tokens']) t.equal((await svc.app.inject(url)).statusCode, 404)
  const production = {
    app: { url: 'https://auth.example.com', environment: 'production' },
    mail: { url: 'smtps://mail.example.com' },
  }
  t.equal(testConfig(production).current().test_page, false)
  t.throws(() => testConfig({ ...production, test_page: true }), /test_page/)
})

t.test('sets a secure flash cookie where svc uses https', async (t) => {
  const svc = await buildTestApp(t, { settings: { app: { url: 'https://auth.example.com' } } })
  const user = await svc.createUser()
  const own = 'https://auth.example.com'
  const browser = new Browser(svc.app, { origin: own, url: own, xsrf: false })
  t.equal(cookiesOf(await signIn(browser, user.email))['__Host-svc_flash']?.secure, true)
})

t.test('lists tokens for a session or an API token, and for no JWT', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(user.email)
  const token = await svc.createToken(user)
  const [id] = token.split('|')
  const jwts = {
    personal: (await spa.post('/oauth/personal-access-tokens', { name: 'mine' })).json().accessToken,
    fresh: (await spa.post('/oauth/token/fresh')).json().access_token,
  }
  for (const [kind, jwt] of Object.entries(jwts)) {
    t.equal((await svc.bearer(jwt, 'GET', '/api/user')).statusCode, 200, `the ${kind} token is valid`)
    t.equal((await svc.bearer(jwt, 'GET', '/test-tokens')).statusCode, 403, kind)
    t.equal((await svc.bearer(jwt, 'DELETE', `/test-tokens/${id}`)).statusCode, 403, kind)
  }
  t.equal((await svc.bearer(token, 'GET', '/test-tokens')).statusCode, 200)
  t.equal((await svc.bearer(token, 'DELETE', `/test-tokens/${id}`)).statusCode, 302)
})
