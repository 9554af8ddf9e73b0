import t from 'tap'
import { visitor as register, registration } from '../../support/accounts.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { Authenticator } from '../../support/authenticator.ts'
import { day } from '../../support/clock.ts'
import { Device } from '../../support/device.ts'
import { oauthSettings, passwordClient, post, request } from '../../support/oauth.ts'
import { credentials, redirectOf, ScriptlessBrowser } from '../../support/plain.ts'
import { stopTime } from '../../support/time.ts'
import { enableTwoFactor } from '../../support/totp.ts'
import { asking, mailedCode, verifyPath } from '../email-code/setup.ts'
import { buildPasskeyApp, Visitor as PasskeyVisitor } from '../passkeys/visitor.ts'
import { buildSocial, Visitor } from '../social/visitor.ts'
import { hooked, type Service, startService } from './policy.ts'

const before_sign_in = {}
const message = 'Your contract ended on 1 May. Call +49 30 1234 <b>„Personal“</b>.'
const deny = () => ({ deny: { message } })
const unlimited = { login: null, login_address: null, two_factor: null, mail: null, register: null }

const build = (t: Parameters<typeof buildTestApp>[0], service: Service, more: object = {}) =>
  buildTestApp(t, {
    settings: { rate_limits: unlimited, ...hooked(service, { before_sign_in }), ...more },
    clock: stopTime(t),
  })

const events = async ({ database }: TestApp) => {
  const rows = await database.prisma.event.findMany({ where: { type: 'denied_by_hook' }, orderBy: { id: 'asc' } })
  return rows.map(({ data, userId, reason }) => ({ ...JSON.parse(data), userId: Number(userId), reason }))
}

t.test('asks once about each sign-in by password, and never sends the password', async (t) => {
  const service = await startService(t)
  const svc = await build(t, service)
  const user = await svc.createUser()
  const browser = svc.browser()
  t.equal((await browser.signIn(user.email)).statusCode, 200)
  t.strictSame(service.asked(), ['before_sign_in'])
  t.match(service.questions[0], {
    type: 'before_sign_in',
    timestamp: /^2026-.*Z$/,
    data: {
      user: { id: user.id, email: user.email, username: user.username, role: 'user', groups: [], fields: {} },
      channel: 'login',
      method: 'password',
      amr: ['pwd'],
      new_account: false,
      ip_address: '203.0.113.77',
      language: 'en',
      request_id: String,
    },
  })
  t.match(service.headers[0], { 'user-agent': /^svc\/\d/, 'content-type': 'application/json' })
  t.equal((await browser.get('/api/user')).statusCode, 200)
  t.equal((await svc.browser().signIn(user.email, 'wrong')).statusCode, 401)
  t.strictSame(service.asked(), [], 'neither in the session nor after a wrong password')
  t.notMatch(JSON.stringify(service.questions), /correct horse|wrong|\$scrypt|\$argon|token/i)
})

t.test('refuses a sign-in with the reason of the service, on every way in', async (t) => {
  const service = await startService(t)
  const login = { email_code: true }
  const svc = await build(t, service, { login, ...oauthSettings, clients: [passwordClient] })
  const user = await svc.createUser()
  service.answer = deny
  const refused = { message, code: 'denied_by_policy', errors: { email: [message] } }

  const browser = svc.browser()
  const json = await browser.signIn(user.email)
  t.equal(json.statusCode, 422)
  t.strictSame(json.json(), refused)
  t.equal((await browser.get('/api/user')).statusCode, 401)

  const scriptless = new ScriptlessBrowser(svc)
  const page = await scriptless.send('/oauth/login', credentials(user.email))
  t.equal(page.statusCode, 422)
  t.match(page.body, 'Call +49 30 1234 &lt;b&gt;„Personal“&lt;/b&gt;.')

  const app = await new Device(svc).token(credentials(user.email))
  t.equal(app.statusCode, 422)
  t.strictSame(app.json(), refused)

  const mailed = await asking(svc, user.email)
  const code = await mailed.post(verifyPath, { code: await mailedCode(svc, user.email) })
  t.equal(code.statusCode, 422)
  t.strictSame(code.json(), refused)
  t.equal((await mailed.get('/api/user')).statusCode, 401)

  const fields = { grant_type: 'password', username: user.email, password: 'correct horse' }
  const granted = await post(svc, '/oauth/token', 'legacy', fields)
  t.equal(granted.statusCode, 400)
  t.strictSame(granted.json(), { error: 'invalid_grant', error_description: message })

  const way = (channel: string, method = 'password') => ({
    ...{ hook: 'before_sign_in', channel, method, userId: user.id, reason: null },
  })
  t.strictSame(service.asked().length, 5, 'one question each')
  t.strictSame(await events(svc), [
    way('login'),
    way('page'),
    way('token'),
    way('email_code', 'email_code'),
    way('password_grant'),
  ])
  t.equal(await svc.database.prisma.session.count({ where: { userId: { not: null } } }), 0)
  t.equal(await svc.database.prisma.personalAccessToken.count(), 0)
  t.equal(await svc.database.prisma.event.count({ where: { type: 'login' } }), 0)
})

t.test('refuses sign-ins with a provider: with the reason on pages of svc, with the code elsewhere', async (t) => {
  const service = await startService(t)
  const settings = hooked(service, { before_sign_in })
  const svc = await buildSocial(t, { acme: { trust_email: true }, settings })
  service.answer = deny
  const page = new Visitor(svc)
  const shown = await page.back(await page.allow(await page.begin('acme', { page: '1' }), 'grace'))
  t.equal(shown.statusCode, 422)
  t.match(shown.headers['content-type'], 'text/html')
  t.match(shown.body, 'Call +49 30 1234 &lt;b&gt;')
  t.equal(await page.user(), null)
  t.equal(service.questions[0]?.data.method, 'social')

  const spa = new Visitor(svc)
  const sent = await spa.back(await spa.allow(await spa.begin(), 'grace'))
  t.strictSame(redirectOf(sent), [302, 'http://localhost:5173/?error=denied_by_policy'])
  t.equal(await spa.user(), null)
})

t.test('refuses sign-ins with a passkey, and with a second factor only after it', async (t) => {
  const service = await startService(t)
  const svc = await buildPasskeyApp(
    t,
    { rate_limits: unlimited, ...hooked(service, { before_sign_in }) },
    { clock: stopTime(t) },
  )
  const user = await svc.createUser()
  const browser = svc.browser()
  await browser.signIn(user.email)
  const authenticator = new Authenticator()
  t.equal((await new PasskeyVisitor(browser).register(authenticator)).statusCode, 200)
  const factor = await enableTwoFactor(svc, user)
  service.asked()

  const challenged = svc.browser()
  t.match((await challenged.signIn(user.email)).json(), { two_factor: true })
  t.strictSame(service.asked(), [], 'the first factor alone is no sign-in')
  svc.clock.advance(60_000)
  service.answer = deny
  const denied = await challenged.post('/two-factor-challenge', { code: factor.code() })
  t.equal(denied.statusCode, 422)
  t.match(denied.json(), { code: 'denied_by_policy' })
  t.match(service.questions.at(-1)?.data, { method: 'password', amr: ['pwd', 'otp', 'mfa'] })
  t.equal((await challenged.get('/api/user')).statusCode, 401)

  const guest = new PasskeyVisitor(svc.browser())
  t.equal((await guest.login(authenticator)).statusCode, 422)
  t.match(service.questions.at(-1)?.data, { method: 'passkey', amr: ['pop', 'user', 'mfa'] })
  t.equal(await guest.userId(), null)
  t.strictSame(service.asked(), ['before_sign_in', 'before_sign_in'])

  svc.clock.advance(60_000)
  const app = new Device(svc)
  const first = await app.token(credentials(user.email))
  t.match(first.json(), { code: 'two_factor_required' })
  t.strictSame(service.asked(), [])
  service.answer = () => ({})
  const second = await app.token({ ...credentials(user.email), code: factor.code() })
  t.equal(second.statusCode, 200, second.body)
  t.strictSame(service.asked(), ['before_sign_in'])
})

t.test('asks again when a remembered browser comes back, and forgets it after a refusal', async (t) => {
  const service = await startService(t)
  const svc = await build(t, service, { ...oauthSettings, login: { trust_browser: '30d' } })
  const user = await svc.createUser()
  const browser = svc.browser()
  await browser.signIn(user.email, undefined, { remember: true })
  svc.clock.advance(2 * day)
  service.asked()
  const answers = await Promise.all(Array.from({ length: 6 }, () => browser.get('/api/user')))
  t.strictSame(
    answers.map(({ statusCode }) => statusCode),
    Array(6).fill(200),
  )
  t.ok(service.asked().length <= 2, 'parallel requests share a question')
  t.match(service.questions.at(-1)?.data, { channel: 'remembered', method: 'remembered', amr: [] })

  svc.clock.advance(2 * day)
  service.answer = () => ({ body: '', status: 500 })
  t.equal((await browser.get('/api/user')).statusCode, 503, 'without an answer')
  t.equal((await browser.get('/oauth/forgot-password', { accept: 'text/html' })).statusCode, 200, 'as a guest')
  const silent = new URLSearchParams({ ...request('own', { scope: 'openid' }), prompt: 'none' })
  const { statusCode } = await browser.get(`/oauth/authorize?${silent}`, { accept: 'text/html' })
  t.equal(statusCode, 503, 'a client does not take it for a user who signed out')
  service.answer = () => ({})
  t.equal((await browser.get('/api/user')).statusCode, 200, 'a failure forgets nothing')

  svc.clock.advance(2 * day)
  service.answer = deny
  t.equal((await browser.get('/api/user')).statusCode, 401)
  service.answer = () => ({})
  service.asked()
  t.equal((await browser.get('/api/user')).statusCode, 401)
  t.strictSame(service.asked(), [])
  t.equal(await svc.database.prisma.rememberToken.count(), 0)
})

t.test('asks for a second factor if the service requires one', async (t) => {
  const service = await startService(t)
  const svc = await build(t, service, { login: { trust_browser: '30d' } })
  const user = await svc.createUser()
  const factor = await enableTwoFactor(svc, user)
  const browser = svc.browser()
  await browser.signIn(user.email)
  svc.clock.advance(60_000)
  await browser.post('/two-factor-challenge', { code: factor.code(), trust_browser: true })
  await browser.post('/logout')
  t.match((await browser.signIn(user.email)).json(), { two_factor: false }, 'in a trusted browser')
  await browser.post('/logout')

  service.answer = () => ({ require: 'second_factor' })
  service.asked()
  t.match((await browser.signIn(user.email)).json(), { two_factor: true })
  svc.clock.advance(60_000)
  t.equal((await browser.post('/two-factor-challenge', { code: factor.code() })).statusCode, 204)
  t.strictSame(service.asked(), ['before_sign_in'], 'one question for the whole sign-in')
  t.equal((await browser.get('/api/user')).statusCode, 200)

  const without = await svc.createUser()
  const text = 'This sign-in needs a second factor, and your account has none.'
  const refused = { message: text, code: 'second_factor_required', errors: { email: [text] } }
  const other = svc.browser()
  const answer = await other.signIn(without.email)
  t.equal(answer.statusCode, 422)
  t.strictSame(answer.json(), refused)
  t.equal((await other.get('/api/user')).statusCode, 401)
  const app = await new Device(svc).token(credentials(without.email))
  t.strictSame(app.json(), refused)
  t.match(await events(svc), [
    { channel: 'login', userId: without.id, reason: 'second_factor' },
    { channel: 'token', userId: without.id, reason: 'second_factor' },
  ])
})

t.test('asks about the sign-in of a new account too', async (t) => {
  const service = await startService(t)
  const svc = await build(t, service)
  service.answer = deny
  const browser = await register(svc)
  const answer = await browser.post('/register', registration('new@example.com'))
  t.equal(answer.statusCode, 422)
  t.match(answer.json(), { code: 'denied_by_policy' })
  t.match(service.questions.at(-1)?.data, { channel: 'registration', new_account: true })
  t.equal((await browser.get('/api/user')).statusCode, 401)
})

t.test('asks nothing without hooks', async (t) => {
  const service = await startService(t)
  const svc = await buildTestApp(t, { settings: { rate_limits: unlimited } })
  const user = await svc.createUser()
  t.equal((await svc.browser().signIn(user.email)).statusCode, 200)
  t.strictSame(service.asked(), [])
})

t.test('uses up no code of the second factor without an answer', async (t) => {
  const service = await startService(t)
  const svc = await build(t, service)
  const user = await svc.createUser()
  const factor = await enableTwoFactor(svc, user)
  const failing = () => ({ body: '', status: 500 })
  const browser = svc.browser()
  await browser.signIn(user.email)
  for (const proof of [{ recovery_code: factor.recoveryCodes[0] }, { code: '' }]) {
    svc.clock.advance(60_000)
    const sent = 'code' in proof ? { code: factor.code() } : proof
    service.answer = failing
    t.equal((await browser.post('/two-factor-challenge', sent)).statusCode, 503)
    service.answer = () => ({})
    t.equal((await browser.post('/two-factor-challenge', sent)).statusCode, 204)
    await browser.post('/logout')
    await browser.signIn(user.email)
  }
  const proof = { ...credentials(user.email), recovery_code: factor.recoveryCodes[1] }
  service.answer = failing
  t.equal((await new Device(svc).token(proof)).statusCode, 503)
  service.answer = () => ({})
  t.equal((await new Device(svc).token(proof)).statusCode, 200)
  t.equal((await new Device(svc).token(proof)).statusCode, 422, 'once')
})

t.test('tells the first factor of an app that sends the second one later', async (t) => {
  const service = await startService(t)
  const svc = await build(t, service, { login: { email_code: true } })
  const user = await svc.createUser()
  const factor = await enableTwoFactor(svc, user)
  service.asked()
  const app = new Device(svc)
  const { challenge_token } = (await app.post('/svc/email-code', { email: user.email })).json()
  const first = await app.token({ email_code: await mailedCode(svc, user.email), challenge_token })
  t.strictSame(service.asked(), [])
  svc.clock.advance(60_000)
  const { challenge } = first.json()
  t.equal((await app.post('/svc/token', { challenge, code: factor.code() })).statusCode, 200)
  t.match(service.questions.at(-1)?.data, { method: 'email_code', amr: ['email', 'otp', 'mfa'] })
})

t.test('lets people who return from a provider start again while the service does not answer', async (t) => {
  const service = await startService(t)
  const svc = await buildSocial(t, { acme: { trust_email: true }, settings: hooked(service, { before_sign_in }) })
  service.answer = () => ({ body: '', status: 500 })
  const page = new Visitor(svc)
  const shown = await page.back(await page.allow(await page.begin('acme', { page: '1' }), 'grace'))
  t.strictSame(redirectOf(shown), [302, '/oauth/login?error=unavailable'])
})
