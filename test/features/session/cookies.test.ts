// engine: none
import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { Browser } from '../../support/browser.ts'
import { cookieNames, cookiesOf, pair } from './set-cookies.ts'

const stateful = { origin: 'http://localhost:5173' }

t.test('sets the session cookie and the XSRF cookie together, with their attributes', async (t) => {
  const svc = await buildTestApp(t)
  const answer = await svc.browser().get('/svc/csrf-cookie')
  t.equal(answer.statusCode, 204)
  t.equal(answer.body, '')
  t.strictSame(cookieNames(answer), pair)
  const { svc_session: session, 'XSRF-TOKEN': xsrf } = cookiesOf(answer)
  t.match(session, { httpOnly: true, secure: false, sameSite: 'lax', path: '/', maxAge: 7200, domain: null })
  t.match(xsrf, { httpOnly: false, secure: false, sameSite: 'lax', path: '/', maxAge: 7200, domain: null })
  t.match(xsrf?.value, /^x[\w-]{43}$/, 'URL-safe, and never like the start of JSON or a number')
  t.equal(xsrf?.value, decodeURIComponent(xsrf?.value ?? ''))
  t.match(session?.value, /^[\w-]{43}\.[\w-]{43}$/)
  t.notOk(session?.value.includes(xsrf?.value.slice(1) ?? ''))
})

t.test('derives the attributes from the configuration, never from the connection', async (t) => {
  const settings = {
    app: { url: 'https://auth.example.com' },
    server: { trust_proxy: ['127.0.0.1/32'] },
    stateful: ['app.example.com'],
    session: { cookie: 'sid', lifetime: '30m', same_site: 'strict', domain: '.example.com' },
  }
  const secure = await buildTestApp(t, { settings })
  for (const proto of [undefined, 'http', 'https']) {
    const answer = await secure.browser().get('/svc/csrf-cookie', { 'x-forwarded-proto': proto })
    t.strictSame(cookieNames(answer), ['XSRF-TOKEN', '__Secure-sid'])
    for (const cookie of Object.values(cookiesOf(answer))) {
      t.match(
        cookie,
        { secure: true, sameSite: 'strict', maxAge: 1800, domain: 'example.com' },
        `${cookie.key} ${proto}`,
      )
    }
  }
  const plain = await buildTestApp(t, { settings: { server: { trust_proxy: ['127.0.0.1/32'] } } })
  const answer = await plain.browser().get('/svc/csrf-cookie', { 'x-forwarded-proto': 'https' })
  t.equal(cookiesOf(answer).svc_session?.secure, false)
  t.equal(cookiesOf(answer)['XSRF-TOKEN']?.secure, false)
})

t.test('sends cookies only to subdomains of the configured domain', async (t) => {
  const settings = {
    app: { url: 'https://auth.example.com' },
    stateful: ['app.example.com'],
    session: { domain: '.example.com' },
  }
  const svc = await buildTestApp(t, { settings })
  const user = await svc.createUser()
  const spa = new Browser(svc.app, { origin: 'https://app.example.com', url: 'https://auth.example.com', known: false })
  t.equal((await spa.signIn(user.email, undefined, { remember: true })).statusCode, 200)
  t.equal((await spa.get('/api/user')).statusCode, 200)
  const sentTo = async (url: string) => (await spa.jar.getCookies(url)).map((cookie) => cookie.key).sort()
  const all = ['XSRF-TOKEN', '__Secure-svc_browser', '__Secure-svc_remember', '__Secure-svc_session']
  t.strictSame(await sentTo('https://app.example.com/'), all, 'the SPA reads the XSRF value on its own host')
  for (const url of ['https://example.com.evil.com/', 'https://evilexample.com/', 'https://evil.com/']) {
    t.strictSame(await sentTo(url), [], url)
  }
  t.strictSame(await sentTo('http://app.example.com/'), [], 'not without https')
  t.equal((await spa.post('/logout')).statusCode, 200)
  t.strictSame(await sentTo('https://app.example.com/'), ['XSRF-TOKEN', '__Secure-svc_browser', '__Secure-svc_session'])
  t.equal((await spa.get('/api/user')).statusCode, 401)
})

t.test('keeps an anonymous id, and replaces a forged one', async (t) => {
  const svc = await buildTestApp(t)
  const spa = svc.browser()
  await spa.get('/svc/csrf-cookie')
  const first = await spa.cookie('svc_session')
  await spa.get('/svc/csrf-cookie')
  t.equal(await spa.cookie('svc_session'), first)
  const [id = '', signature = ''] = (first ?? '').split('.')
  const other = await buildTestApp(t, { env: { SVC_SECRET: 'another-secret-that-is-also-32-bytes-long' } })
  await other.browser().get('/svc/csrf-cookie')
  const foreign = cookiesOf(await other.browser().get('/svc/csrf-cookie')).svc_session?.value
  const forged = [
    foreign,
    id,
    `${id}.`,
    `.${signature}`,
    `${id}.${signature.slice(0, -2)}AA`,
    `${id.slice(0, -2)}AA.${signature}`,
    `${id}.${signature}.${signature}`,
    `${id}.${signature}=`,
    `x.${id}.${signature}`,
    '%00',
    '%E0%A4%A',
    '__proto__',
    'a'.repeat(5000),
  ]
  for (const value of forged) {
    const answer = await svc.browser().get('/svc/csrf-cookie', { cookie: `svc_session=${value}` })
    t.equal(answer.statusCode, 204)
    const given = cookiesOf(answer).svc_session?.value ?? ''
    t.match(given, /^[\w-]{43}\.[\w-]{43}$/)
    t.not(given.split('.')[0], id, `${value?.slice(0, 50)} gives a new id`)
    t.notOk(value !== '' && given.startsWith(`${value}`))
  }
  t.equal(await svc.database.prisma.session.count(), 0, 'anonymous visitors write no row')
})

t.test('sets an anonymous session cookie on a guest route only if the request has none', async (t) => {
  const svc = await buildTestApp(t)
  const spa = svc.browser()
  const refused = await spa.post('/login', { email: 'a@example.com', password: 'x' })
  t.equal(refused.statusCode, 419)
  t.strictSame(cookieNames(refused), pair)
  t.equal((await spa.post('/login', { email: 'a@example.com', password: 'x' })).statusCode, 401, 'that pair is valid')
  const again = await spa.post('/login', { email: 'a@example.com' })
  t.equal(again.statusCode, 422)
  t.strictSame(cookieNames(again), [])
})

t.test('renews the cookies with every response to a session, and never with one to a bearer token', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const spa = svc.browser()
  t.strictSame(cookieNames(await spa.signIn(user.email)), [...pair.slice(0, 1), 'svc_browser', ...pair.slice(1)])
  const xsrf = await spa.cookie('XSRF-TOKEN')
  for (const [status, answer] of [
    [200, await spa.get('/api/user')],
    [200, await spa.get('/api/tokens')],
    [404, await spa.delete('/api/tokens/999')],
    [422, await spa.post('/api/tokens/create', {})],
    [409, await spa.delete('/api/tokens/current')],
    [419, await spa.post('/api/tokens/create', {}, { 'x-xsrf-token': 'wrong' })],
    [400, await spa.send('POST', '/api/tokens/create', undefined, { 'content-type': 'application/json' })],
  ] as const) {
    if (status !== 400) t.equal(answer.statusCode, status)
    t.strictSame(cookieNames(answer), pair, `${answer.statusCode}`)
    t.equal(cookiesOf(answer)['XSRF-TOKEN']?.value, xsrf, 'the value is stable while the id is')
  }
  const token = await svc.createToken(user)
  t.strictSame(cookieNames(await svc.bearer(token, 'GET', '/api/user')), [])
  const visitor = svc.browser()
  await visitor.get('/svc/csrf-cookie')
  for (const headers of [{ authorization: `Bearer ${token}` }, { ...stateful, authorization: `Bearer ${token}` }]) {
    t.strictSame(cookieNames(await visitor.get('/api/user', headers)), [])
    t.strictSame(cookieNames(await visitor.get('/api/user', { ...headers, cookie: 'svc_session=forged' })), [])
  }
  t.strictSame(cookieNames(await spa.get('/api/user', { origin: undefined, referer: undefined })), [], 'not stateful')
})

t.test('signs with a new secret, and still accepts old cookies', async (t) => {
  const one = 'the-first-secret-which-is-32-bytes-long'
  const two = 'the-second-secret-that-is-32-bytes-long'
  const before = await buildTestApp(t, { env: { SVC_SECRET: one } })
  const user = await before.createUser()
  const spa = before.browser()
  t.equal((await spa.signIn(user.email, undefined, { remember: true })).statusCode, 200)
  const old = await spa.cookie('svc_session')
  const oldXsrf = await spa.cookie('XSRF-TOKEN')
  const after = await buildTestApp(t, { env: { SVC_SECRET: `${two},${one}` }, database: before.where })
  const moved = new Browser(after.app)
  for (const cookie of await spa.jar.getCookies('http://localhost:8000/')) {
    await moved.jar.setCookie(cookie, 'http://localhost:8000/')
  }
  const post = await moved.post('/api/tokens/create', { token_name: 'x' })
  t.equal(post.statusCode, 200, 'the old XSRF value is accepted')
  t.not(await moved.cookie('svc_session'), old)
  t.equal((await moved.cookie('svc_session'))?.split('.')[0], old?.split('.')[0], 'same id, new signature')
  t.not(await moved.cookie('XSRF-TOKEN'), oldXsrf)
  t.equal((await moved.post('/api/tokens/create', { token_name: 'x' })).statusCode, 200)
  const without = await buildTestApp(t, { env: { SVC_SECRET: two }, database: before.where })
  t.equal((await new Browser(without.app).get('/api/user', { cookie: `svc_session=${old}` })).statusCode, 401)
})
