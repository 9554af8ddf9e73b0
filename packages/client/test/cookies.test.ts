// engine: none
// process: own
import t from 'tap'
import { confirming } from '../../../test/support/app.ts'
import { ada, startWithAda } from '../../../test/support/listening.ts'
import { codeAt } from '../../../test/support/totp.ts'
import {
  CsrfMismatchError,
  createClient,
  PasswordConfirmationRequiredError,
  RateLimitedError,
  TermsNotAcceptedError,
  UnauthorizedError,
  ValidationError,
} from '../src/client.ts'
import { fetchWithJar } from './cookie-jar.ts'

const origin = 'http://localhost:5173'

/** A client in cookie mode outside of a browser: it has a jar, and names its origin itself. */
function pageClient(baseUrl: string) {
  const jar = fetchWithJar()
  const xsrfToken = async () => {
    const value = (await jar.cookie(baseUrl, 'XSRF-TOKEN'))?.value
    return value && decodeURIComponent(value)
  }
  return { ...jar, svc: createClient({ baseUrl, fetch: jar.fetch, headers: { origin }, xsrfToken }) }
}

const { url } = await startWithAda(t, {}, { ...confirming, mail: { url: 'log:' } })

t.test('signs in, reads the user and signs out with cookies', async (t) => {
  const { svc, sent } = pageClient(`${url}/`)
  t.equal(await svc.userOrNull(), null)
  await t.rejects(svc.user(), UnauthorizedError)
  t.match(await svc.login(ada), { two_factor: false, user: { email: ada.email } })
  t.match(await svc.user(), { email: ada.email, name: 'Ada' })
  t.ok((await svc.sessions.list()).some(({ current }) => current))
  await svc.logout()
  t.equal(await svc.userOrNull(), null)
  t.equal(sent.filter((each) => each === 'GET /svc/csrf-cookie').length, 1, 'fetches the CSRF cookie once')
})

t.test('rejects wrong credentials with the message for the form', async (t) => {
  const { svc } = pageClient(url)
  const error = await svc.login({ ...ada, password: 'wrong' }).catch((error) => error)
  t.type(error, UnauthorizedError)
  t.match(error, { status: 401, code: 'invalid_credentials', message: /do not match/ })
  t.match(error.first('email'), /do not match/)
})

t.test('registers, changes the profile and deletes the account', async (t) => {
  const { svc } = pageClient(url)
  const grace = { name: 'Grace', email: 'grace@example.com', password: 'correct horse battery' }
  const rejected = await svc.register({ ...grace, password: 'short' }).catch((error) => error)
  t.type(rejected, ValidationError)
  t.match(rejected, { status: 422, code: 'validation_failed', errors: { password: [String] } })
  await svc.register(grace)
  t.match(await svc.user(), { email: grace.email, email_verified_at: null })
  await svc.email.resend()
  await svc.updateProfile({ name: 'Grace Hopper', email: grace.email })
  t.match(await svc.user(), { name: 'Grace Hopper' })
  await t.rejects(svc.deleteAccount(), PasswordConfirmationRequiredError)
  t.equal(await svc.password.isConfirmed(), false)
  await svc.password.confirm(grace.password)
  t.equal(await svc.password.isConfirmed(), true)
  const change = { current_password: grace.password, password: 'another correct horse' }
  await svc.password.update({ ...change, revoke_tokens: true })
  await svc.sessions.endOthers(change.password)
  await svc.deleteAccount()
  t.equal(await svc.userOrNull(), null)
})

t.test('resets a password, and names the invalid field', async (t) => {
  const { svc } = pageClient(url)
  await svc.password.forgot(ada.email)
  const reset = { token: 'wrong', email: ada.email, password: 'another correct horse' }
  const error = await svc.password.reset(reset).catch((error) => error)
  t.type(error, ValidationError)
  t.ok(error.first('email'))
})

t.test('fetches a new CSRF token and repeats the request once after a 419', async (t) => {
  const { svc, jar, sent } = pageClient(url)
  await svc.login(ada)
  const forge = () => jar.setCookie('XSRF-TOKEN=xforged; Path=/', url)
  await forge()
  sent.length = 0
  t.ok(await svc.tokens.create({ token_name: 'one' }))
  t.same(sent, ['POST /api/tokens/create', 'GET /svc/csrf-cookie', 'POST /api/tokens/create'])

  t.equal((await svc.tokens.list()).length, 1, 'nothing is created twice')
})

t.test('shares one CSRF cookie between concurrent requests', async (t) => {
  const { svc, sent } = pageClient(url)
  await Promise.all([svc.password.forgot('one@example.com'), svc.password.forgot('two@example.com')])
  t.same(sent.toSorted(), ['GET /svc/csrf-cookie', 'POST /forgot-password', 'POST /forgot-password'])
})

t.test('gives up after the second 419', async (t) => {
  const { fetch, sent } = fetchWithJar()
  const svc = createClient({ baseUrl: url, fetch, headers: { origin }, xsrfToken: () => 'xforged' })
  const error = await svc.login(ada).catch((error) => error)
  t.type(error, CsrfMismatchError)
  t.match(error, { status: 419, code: 'csrf_mismatch' })
  t.same(sent, ['POST /login', 'GET /svc/csrf-cookie', 'POST /login'])
})

t.test('reports how long to wait after too many requests', async (t) => {
  const { svc } = pageClient((await startWithAda(t, {}, { rate_limits: { login: '2/5m' } })).url)
  const wrong = { ...ada, password: 'wrong' }
  for (const _ of [1, 2]) await t.rejects(svc.login(wrong), UnauthorizedError)
  const error = await svc.login(wrong).catch((error) => error)
  t.type(error, RateLimitedError)
  t.match(error, { status: 429, code: 'too_many_requests' })
  t.ok(error.retryAfter > 0 && error.retryAfter <= 300, `${error.retryAfter} s`)
})

t.test('reads the user on a server that renders a page, with the cookies of the browser', async (t) => {
  const browser = pageClient(url)
  await browser.svc.login(ada)
  const cookie = await browser.jar.getCookieString(url)
  const svc = createClient({ baseUrl: url, headers: async () => ({ cookie, origin }) })
  t.match(await svc.user(), { email: ada.email })
  await t.rejects(svc.logout(), CsrfMismatchError, 'without a CSRF token it cannot change anything')
})

t.test('sets up a second factor and completes a sign-in with it', async (t) => {
  const { svc } = pageClient(url)
  await svc.login(ada)
  await t.rejects(svc.twoFactor.enable(), PasswordConfirmationRequiredError)
  await svc.password.confirm(ada.password)
  t.equal(await svc.twoFactor.qrCode(), null)
  await svc.twoFactor.enable()
  t.match(await svc.twoFactor.qrCode(), { svg: /^<svg/, url: /^otpauth:/ })
  const secret = await svc.twoFactor.secretKey()
  await svc.twoFactor.confirm(codeAt(secret, Date.now()))
  const [recovery_code = ''] = await svc.twoFactor.recoveryCodes()
  const fresh = await svc.twoFactor.regenerateRecoveryCodes()
  t.equal(fresh.length, 8)
  t.notOk(fresh.includes(recovery_code))
  await svc.logout()

  t.same(await svc.login(ada), { two_factor: true })
  t.equal(await svc.userOrNull(), null)
  await t.rejects(svc.twoFactor.challenge({ recovery_code }), ValidationError)
  await svc.twoFactor.challenge({ code: codeAt(secret, Date.now(), 1) })
  t.match(await svc.user(), { two_factor_enabled: true })
  await svc.twoFactor.enable({ force: true }).catch((error) => t.type(error, PasswordConfirmationRequiredError))
  await svc.password.confirm(ada.password)
  await svc.twoFactor.disable()
  t.match(await svc.user(), { two_factor_enabled: false })
})

t.test('tells that the user must accept the terms, in a page and in an app', async (t) => {
  const terms = { version: '2026-11', url: 'https://example.com/terms' }
  const { url } = await startWithAda(t, {}, { terms })
  const { svc } = pageClient(url)
  await svc.login(ada)
  const error = await svc.user().catch((error) => error)
  t.type(error, TermsNotAcceptedError)
  t.match(error, { status: 403, code: 'terms_not_accepted' })
  const app = createClient({ baseUrl: url, token: null })
  const held = await app.tokens.login({ ...ada, device_name: 'Phone' }).catch((error) => error)
  t.type(held, TermsNotAcceptedError)
  const { version } = await svc.request('GET', '/terms')
  await svc.request('POST', '/user/terms', { body: { version } })
  t.match(await svc.user(), { email: ada.email })
  t.ok((await app.tokens.login({ ...ada, device_name: 'Phone' })).token)
})
