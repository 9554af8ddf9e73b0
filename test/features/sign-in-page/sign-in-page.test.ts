// engine: none
import t from 'tap'
import { clearTwoFactor } from '../../../src/identity/two-factor.ts'
import { buildTestApp } from '../../support/app.ts'
import { minute } from '../../support/clock.ts'
import { credentials, redirectOf, ScriptlessBrowser } from '../../support/plain.ts'
import { enableTwoFactor } from '../../support/totp.ts'
import { cookieNames } from '../session/set-cookies.ts'

const login = '/oauth/login'
const forgot = '/oauth/forgot-password'

t.test('signs in and returns to the intended page', async (t) => {
  // The language switch would repeat the address of the page.
  const svc = await buildTestApp(t, { settings: { i18n: { languages: ['en'] } } })
  const { email, id } = await svc.createUser()
  const page = await new ScriptlessBrowser(svc).open(login)
  t.equal(page.statusCode, 200)
  t.match(page.headers, { 'content-type': 'text/html; charset=utf-8', 'referrer-policy': 'same-origin' })
  for (const [query, target] of [
    ['', '/'],
    ['?return_to=/test-tokens', '/test-tokens'],
    ['?return_to=%2Foauth%2Fauthorize%3Fa%3D1%26b%3D2', '/oauth/authorize?a=1&b=2'],
    ['?return_to=https://evil.example/', '/'],
    ['?return_to=//evil.example', '/'],
    ['?return_to=/%5Cevil.example', '/'],
    ['?return_to=%5C%5Cevil.example', '/'],
    ['?return_to=/%09/evil.example', '/'],
    ['?return_to=%0d%0aSet-Cookie:x', '/'],
    ['?return_to=/.//evil.example', '/'],
    ['?return_to=javascript:alert(1)', '/'],
    ['?return_to=data:text/html,x', '/'],
    ['?return_to=@evil.example', '/'],
    ['?return_to=/a&return_to=//evil.example', '/'],
    [`?return_to=/${'a'.repeat(5000)}`, '/'],
    ['?return_to=/%22%3E%3Cscript%3Ealert(1)%3C/script%3E', '/%22%3E%3Cscript%3Ealert(1)%3C/script%3E'],
  ] as const) {
    const visitor = new ScriptlessBrowser(svc)
    const { body } = await visitor.open(login + query)
    t.notMatch(body, 'evil.example', query)
    t.notMatch(body, '<script>alert', query)
    t.strictSame(redirectOf(await visitor.send(login + query, credentials(email))), [303, target], query)
    t.equal(await visitor.user(), id)
  }
  const direct = new ScriptlessBrowser(svc)
  const { body } = await direct.open(login)
  const _token = /name="_token" value="([^"]+)"/.exec(body)?.[1] ?? ''
  for (const return_to of ['https://evil.example/', '//evil.example', '/\\evil.example']) {
    const answer = await direct.post(login, { _token, ...credentials(email), return_to })
    t.ok([303, 419].includes(answer.statusCode))
    t.notMatch(String(answer.headers.location), 'evil')
  }
})

t.test('shows errors in the form, which keeps all fields but the password', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const visitor = new ScriptlessBrowser(svc)
  const texts = {
    wrong: 'Incorrect email or password.',
    email: 'The email field must be a valid email address.',
    password: 'The password field is required.',
  }
  for (const [typed, status, text] of [
    [{ email, password: 'wrong secret', remember: '1' }, 401, texts.wrong],
    [{ email: 'unknown@example.com', password: 'wrong secret' }, 401, texts.wrong],
    [{ email: 'no address', password: 'wrong secret' }, 422, texts.email],
    [{ email, password: '' }, 422, texts.password],
    [{ email: '"><script>alert(1)</script>', password: 'wrong secret' }, 422, texts.email],
  ] as const) {
    const answer = await visitor.send(`${login}?return_to=/a`, typed)
    t.equal(answer.statusCode, status)
    t.match(answer.body, text)
    t.notMatch(answer.body, 'wrong secret')
    t.notMatch(answer.body, '<script>alert')
    t.match(answer.body, 'name="return_to" value="/a"')
    if (typed.email === email) t.match(answer.body, `value="${email}"`)
  }
  for (const typed of [{}, { email: 'x'.repeat(80_000), password: 'x' }, { email: ['a'], password: {} }]) {
    const answer = await visitor.browser.post(login, typed, { accept: 'text/html', 'sec-fetch-site': 'same-origin' })
    t.equal(answer.statusCode, 422)
  }
  const forged = await visitor.post(login, { ...credentials(email), _token: 'x' })
  t.equal(forged.statusCode, 419)
  t.match(forged.headers['content-type'], 'text/html')
  t.notMatch(forged.body, 'csrf_mismatch')
  t.equal((await visitor.post(login, credentials(email))).statusCode, 419)
  t.equal(await visitor.user(), null)
})

t.test('shows the time to wait after too many failures', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const visitor = new ScriptlessBrowser(svc)
  for (let i = 0; i < 5; i++) t.equal((await visitor.send(login, credentials(email, 'wrong'))).statusCode, 401)
  const refused = await visitor.send(login, credentials(email))
  t.equal(refused.statusCode, 429)
  t.equal(refused.headers['retry-after'], '60')
  t.match(refused.headers['content-type'], 'text/html')
  t.match(refused.body, 'Too many login attempts. Please try again in 60 seconds.')
  t.match(refused.body, 'name="password"')
  svc.clock.advance(minute)
  t.equal((await visitor.send(login, credentials(email))).statusCode, 303)
})

t.test('asks for the second factor in a second form, and keeps the choice to be remembered', async (t) => {
  const svc = await buildTestApp(t)
  const ada = await enableTwoFactor(svc)
  const at = `${login}?return_to=/test-tokens`
  const visitor = new ScriptlessBrowser(svc)
  const first = await visitor.send(at, { ...credentials(ada.email), remember: '1' })
  t.strictSame(redirectOf(first), [303, `${login}?return_to=%2Ftest-tokens`])
  t.strictSame(cookieNames(first), ['XSRF-TOKEN', 'svc_session'])
  t.equal(await visitor.user(), null)
  const page = await visitor.open(String(first.headers.location))
  t.match(page.body, 'name="code"')
  t.notMatch(page.body, 'name="password"')
  t.notMatch(page.body, ada.email, 'the user is not shown')

  const wrong = await visitor.send(at, { code: ada.wrong() })
  t.equal(wrong.statusCode, 422)
  t.match(wrong.body, 'The provided two factor authentication code was invalid.')
  const empty = await visitor.send(at, { code: '' })
  t.equal(empty.statusCode, 422)
  const spent = await visitor.send(at, { recovery_code: 'nothing' })
  t.match(spent.body, 'The provided two factor recovery code was invalid.')
  const forged = await visitor.post(login, { code: ada.code(), _token: 'x' })
  t.equal(forged.statusCode, 419)
  const code = ada.code()
  const done = await visitor.send(at, { code: `${code.slice(0, 3)} ${code.slice(3)}` })
  t.strictSame(redirectOf(done), [303, '/test-tokens'])
  t.ok(cookieNames(done).includes('svc_remember'))
  t.equal(await visitor.user(), ada.user.id)

  const other = new ScriptlessBrowser(svc)
  await other.send(login, credentials(ada.email))
  const recovered = await other.send(login, { recovery_code: ada.recoveryCodes[0] ?? '' })
  t.strictSame(redirectOf(recovered), [303, '/'])
  t.notOk(cookieNames(recovered).includes('svc_remember'))
  t.equal(await other.user(), ada.user.id)
})

t.test('continues, expires and restarts challenges on the sign-in page', async (t) => {
  const svc = await buildTestApp(t)
  const ada = await enableTwoFactor(svc)
  const visitor = new ScriptlessBrowser(svc)
  t.strictSame(redirectOf(await visitor.open('/two-factor-challenge')), [302, login], 'no sign-in waits')
  await visitor.send(login, credentials(ada.email))
  const page = await visitor.open('/two-factor-challenge?return_to=/a')
  t.equal(page.statusCode, 200)
  t.match(page.body, 'name="return_to" value="/a"')
  const restart = /href="([^"]*restart=1[^"]*)"/.exec(page.body)?.[1]?.replaceAll('&amp;', '&') ?? ''
  t.match((await visitor.open(restart)).body, 'name="password"')
  t.match((await visitor.open(login)).body, 'name="code"', 'it still waits')
  t.strictSame(redirectOf(await visitor.send('/two-factor-challenge?return_to=/a', { code: ada.code() })), [303, '/a'])

  const late = new ScriptlessBrowser(svc)
  await late.send(login, credentials(ada.email))
  const { body } = await late.open(login)
  const _token = /name="_token" value="([^"]+)"/.exec(body)?.[1] ?? ''
  svc.clock.advance(10 * minute)
  const tooLate = await late.post(login, { _token, code: ada.code(), return_to: '/a' })
  t.equal(tooLate.statusCode, 422)
  t.match(tooLate.body, 'name="return_to" value="/a"')
  t.match((await late.open(login)).body, 'name="password"')
  t.equal(await late.user(), null)
  const spared = new ScriptlessBrowser(svc)
  await spared.send(login, credentials(ada.email))
  t.match((await spared.open(login)).body, 'name="code"')
  await svc.database.transaction((tx) => clearTwoFactor(tx, ada.user.id))
  t.match((await spared.open(login)).body, 'name="password"', 'the factor was removed: a password suffices')
  t.strictSame(redirectOf(await spared.send(login, credentials(ada.email))), [303, '/'])
  const anonymous = new ScriptlessBrowser(svc)
  const form = await anonymous.open(login)
  const token = /name="_token" value="([^"]+)"/.exec(form.body)?.[1] ?? ''
  t.strictSame(redirectOf(await anonymous.post(login, { _token: token, code: ada.code() })), [303, login])
  t.equal(await anonymous.user(), null)
})

t.test('redirects signed-in users immediately, and lets them use another account', async (t) => {
  const svc = await buildTestApp(t)
  const [ada, bob] = [await svc.createUser(), await enableTwoFactor(svc)]
  const visitor = new ScriptlessBrowser(svc)
  await visitor.send(login, credentials(ada.email))
  const token = /name="_token" value="([^"]+)"/.exec((await visitor.open('/')).body)?.[1] ?? ''
  t.strictSame(redirectOf(await visitor.open(`${login}?return_to=/a`)), [303, '/a'])
  t.strictSame(redirectOf(await visitor.open(`${login}?return_to=${encodeURIComponent(login)}`)), [303, login])
  t.strictSame(redirectOf(await visitor.open(login)), [303, '/'])
  const wrong = await visitor.post(login, { _token: token, ...credentials(bob.email, 'wrong') })
  t.equal(wrong.statusCode, 401)
  t.equal(await visitor.user(), ada.id, 'a failure keeps the session')
  const second = await visitor.post(login, { _token: token, ...credentials(bob.email) })
  t.equal(second.statusCode, 303)
  const next = await visitor.open(String(second.headers.location))
  t.match(next.body, 'name="code"', 'the form for the code, although a user is signed in')
  t.equal((await visitor.send(login, { code: bob.code() })).statusCode, 303)
  t.equal(await visitor.user(), bob.user.id)
})

t.test("replaces svc's pages by a configured front end, and links to it in mails", async (t) => {
  const svc = await buildTestApp(t, { settings: { app: { frontend_url: 'http://localhost:5173' } } })
  const ada = await enableTwoFactor(svc)
  const visitor = new ScriptlessBrowser(svc)
  for (const path of ['/', '/two-factor-challenge', '/reset-password/abc?email=a@b.c']) {
    t.equal((await visitor.open(path)).statusCode, 404, path)
  }
  const posted = await visitor.browser.post('/reset-password/abc', {}, { 'sec-fetch-site': 'same-origin' })
  t.equal(posted.statusCode, 404)
  t.equal((await visitor.send(login, credentials(ada.email))).statusCode, 303, 'but keeps its sign-in page')
  t.equal((await visitor.open('/two-factor-challenge')).statusCode, 404)
  t.strictSame(redirectOf(await visitor.send(login, { code: ada.code() })), [303, 'http://localhost:5173/'])
  await new ScriptlessBrowser(svc).send(forgot, { email: ada.email })
  const mail = (await svc.mailbox.to(ada.email)).find(({ text }) => text.includes('reset-password'))
  t.match(mail?.text, /http:\/\/localhost:5173\/reset-password\/[0-9a-f]{64}\?email=/)
})

t.test("redirects to the application's sign-in page if there is one", async (t) => {
  for (const [page, target] of [
    ['https://app.example/login', 'https://app.example/login?return_to=%2Fa%3Fb'],
    ['https://app.example/login?x=1', 'https://app.example/login?x=1&return_to=%2Fa%3Fb'],
  ] as const) {
    const svc = await buildTestApp(t, { settings: { links: { login: page } } })
    const visitor = new ScriptlessBrowser(svc)
    t.strictSame(redirectOf(await visitor.open(`${login}?return_to=/a%3Fb`)), [302, target])
    t.notMatch(String((await visitor.open(`${login}?return_to=//evil.example`)).headers.location), 'evil')
  }
})

t.test('explains a failed provider sign-in', async (t) => {
  const visitor = new ScriptlessBrowser(await buildTestApp(t))
  const alert = async (code: string) => {
    const { body } = await visitor.open(`${login}?error=${encodeURIComponent(code)}`)
    return /role="alert" id="form-error"[^>]*><div><p>([^<]*)/.exec(body)?.[1] ?? null
  }
  t.match(await alert('account_exists'), 'An account with this email address already exists')
  t.match(await alert('access_denied'), 'Access was denied')
  const other = await alert('provider_error')
  t.match(other, 'could not sign you in')
  for (const odd of ['<b>Call 555</b>', 'title', 'toString', '']) t.equal(await alert(odd), other, odd)
})

t.test('redirects from the addresses of the API that browsers open', async (t) => {
  const svc = await buildTestApp(t)
  const visitor = new ScriptlessBrowser(svc)
  for (const [address, target] of [
    ['/login', '/oauth/login'],
    ['/login?return_to=%2Fa&login_hint=ada%40example.com', '/oauth/login?login_hint=ada%40example.com&return_to=%2Fa'],
    ['/login?return_to=//evil.example', '/oauth/login'],
    ['/login?email=ada%40example.com&password=secret&login_hint[]=x', '/oauth/login'],
    ['/register', '/oauth/register'],
    ['/forgot-password', '/oauth/forgot-password'],
  ] as const) {
    t.strictSame(redirectOf(await visitor.open(address)), [302, target])
  }
})
