import t from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { day, hour, second } from '../../support/clock.ts'
import { beginTogether } from '../../support/together.ts'
import { challenged, confirmedBrowser, enableTwoFactor } from '../../support/totp.ts'
import { cookieNames } from '../session/set-cookies.ts'

const sent = 'We have emailed your password reset link.'
const done = 'Your password has been reset.'
const badToken = 'This password reset token is invalid.'
const password = 'a new passphrase'

/** An anonymous visitor. */
async function visitor(svc: TestApp): Promise<Browser> {
  const browser = svc.browser()
  await browser.get('/svc/csrf-cookie')
  return browser
}

/** Requests a link and reads it from the mail; null if no mail arrives. */
async function linkFor(svc: TestApp, email: string): Promise<URL | null> {
  const before = (await resetMails(svc, email)).length
  const answer = await (await visitor(svc)).post('/forgot-password', { email })
  if (answer.statusCode !== 200) throw new Error(answer.body)
  const mails = await resetMails(svc, email)
  if (mails.length === before) return null
  const [link = ''] = /https?:\S+reset-password\S+/.exec(mails.at(-1)?.text ?? '') ?? []
  return new URL(link)
}

const resetMails = async (svc: TestApp, email: string) =>
  (await svc.mailbox.to(email)).filter(({ text }) => text.includes('/reset-password/'))

async function tokenFor(svc: TestApp, email: string): Promise<string> {
  const link = await linkFor(svc, email)
  if (!link) throw new Error('no mail came')
  return link.pathname.split('/').at(-1) ?? ''
}

const resetBy = (browser: Browser, email: string, token: string, more: object = {}) =>
  browser.post('/reset-password', { email, token, password, password_confirmation: password, ...more })

const reset = async (svc: TestApp, email: string, token: string, more: object = {}) =>
  resetBy(await visitor(svc), email, token, more)

/** The limits on a second request. */
const wait = (svc: TestApp) => svc.clock.advance(61 * second)

t.test('sets a new password by the mailed link, once, without signing in', async (t) => {
  const svc = await buildTestApp(t)
  const { email, id } = await svc.createUser()
  const asked = await (await visitor(svc)).post('/forgot-password', { email: ` ${email.toUpperCase()} ` })
  t.equal(asked.statusCode, 200)
  t.strictSame(asked.json(), { message: sent, status: sent })
  const [mail] = await svc.mailbox.to(email)
  const link = new URL(/https?:\S+reset-password\S+/.exec(mail?.text ?? '')?.[0] ?? '')
  t.equal(link.origin, 'http://localhost:8000')
  t.match(link.pathname, /^\/reset-password\/[0-9a-f]{64}$/)
  t.equal(link.searchParams.get('email'), email)
  t.match(mail?.html, link.href.replaceAll('&', '&amp;'))
  const token = link.pathname.split('/').at(-1) ?? ''
  const row = await svc.database.prisma.passwordReset.findUniqueOrThrow({ where: { userId: BigInt(id) } })
  t.not(row.tokenHash, token, 'only a hash is stored')

  const spa = await visitor(svc)
  const answer = await resetBy(spa, email, token)
  t.equal(answer.statusCode, 200, answer.body)
  t.strictSame(answer.json(), { message: done, status: done })
  t.strictSame(cookieNames(answer), [], 'it signs no user in')
  t.equal((await spa.get('/api/user')).statusCode, 401)
  t.equal((await svc.browser().signIn(email)).statusCode, 401, 'the old password is invalid')
  t.equal((await svc.browser().signIn(email, password)).statusCode, 200)
  const again = await reset(svc, email, token)
  t.equal(again.statusCode, 422)
  t.strictSame(again.json().errors, { email: [badToken] })
  const told = (await svc.mailbox.to(email)).at(-1)
  t.notMatch(told?.text, '/reset-password/', 'and the owner is notified')
  const types = (await svc.database.prisma.event.findMany({ where: { userId: BigInt(id) } })).map(({ type }) => type)
  t.ok(types.includes('password_reset_requested') && types.includes('password_reset'))
  t.notMatch(svc.logs.join('\n'), token, 'no log has the token')
})

t.test('accepts only the newest link, for its own user, until it expires', async (t) => {
  const svc = await buildTestApp(t, { settings: { registration: { email_change: 'immediate' } } })
  const [ada, bob] = [await svc.createUser(), await svc.createUser()]
  const of = async (answer: ReturnType<typeof reset>) => {
    const { statusCode, body } = await answer
    return statusCode === 422 ? JSON.parse(body).errors : statusCode
  }
  const bad = { email: [badToken] }
  const first = await tokenFor(svc, ada.email)
  t.strictSame(await of(reset(svc, bob.email, first)), bad, "another user's address")
  t.strictSame(await of(reset(svc, 'unknown@example.com', first)), bad)
  wait(svc)
  const second = await tokenFor(svc, ada.email)
  t.strictSame(await of(reset(svc, ada.email, first)), bad, 'replaced')
  svc.clock.advance(hour - 1)
  t.equal(await of(reset(svc, ada.email, second)), 200, 'to the end of its hour')
  wait(svc)
  const third = await tokenFor(svc, ada.email)
  svc.clock.advance(hour)
  t.strictSame(await of(reset(svc, ada.email, third)), bad, 'and no longer')

  const fourth = await tokenFor(svc, ada.email)
  const spa = svc.browser()
  await spa.signIn(ada.email, password)
  await spa.put('/user/password', {
    current_password: password,
    password: 'yet another',
    password_confirmation: 'yet another',
  })
  t.strictSame(await of(reset(svc, ada.email, fourth)), bad, 'the password was changed since')

  const fifth = await tokenFor(svc, bob.email)
  const bobs = await confirmedBrowser(svc, bob.email)
  t.equal((await bobs.put('/user/profile-information', { name: 'B', email: 'new@example.com' })).statusCode, 200)
  for (const email of [bob.email, 'new@example.com']) t.strictSame(await of(reset(svc, email, fifth)), bad, email)
  svc.clock.advance(7 * day)
  await svc.createUser({ email: bob.email })
  t.strictSame(await of(reset(svc, bob.email, fifth)), bad, 'nor for a later user of the address')
})

t.test('keeps the token valid when the new password is rejected', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const token = await tokenFor(svc, email)
  for (const [more, text] of [
    [{ password: 'xk4#q', password_confirmation: 'xk4#q' }, 'The password field must be at least 8 characters.'],
    [{ password_confirmation: 'other' }, 'The password field confirmation does not match.'],
    [{ password_confirmation: undefined }, 'The password field confirmation does not match.'],
    [
      { password: 'password123', password_confirmation: 'password123' },
      'The given password has appeared in a data leak. Please choose a different password.',
    ],
    [{ password: undefined }, 'The password field is required.'],
    [{ password: '' }, 'The password field is required.'],
  ] as const) {
    const answer = await reset(svc, email, token, more)
    t.equal(answer.statusCode, 422, JSON.stringify(more))
    t.strictSame(answer.json().errors, { password: [text] })
  }
  const wrong = await reset(svc, email, 'x', { password: 'short', password_confirmation: 'no' })
  t.strictSame(wrong.json().errors, { email: [badToken] }, 'the token is checked before the password')
  t.strictSame(Object.keys((await reset(svc, '', '', { password: '' })).json().errors).sort(), [
    'email',
    'password',
    'token',
  ])
  t.equal((await reset(svc, email, token)).statusCode, 200)
})

t.test('accepts one of two concurrent uses on two replicas', async (t) => {
  const svc = await buildTestApp(t)
  const replica = await buildTestApp(t, { database: svc.where, clock: svc.clock })
  for (let round = 0; round < 3; round++) {
    const { email } = await svc.createUser()
    const token = await tokenFor(svc, email)
    const browsers = await Promise.all([svc, replica, svc, replica].map(visitor))
    const passwords = browsers.map((_, i) => `passphrase number ${i}`)
    beginTogether(svc, replica)
    const answers = await Promise.all(
      browsers.map((browser, i) =>
        resetBy(browser, email, token, { password: passwords[i], password_confirmation: passwords[i] }),
      ),
    )
    t.strictSame(answers.map(({ statusCode }) => statusCode).sort(), [200, 422, 422, 422])
    const winner = passwords[answers.findIndex(({ statusCode }) => statusCode === 200)]
    t.equal((await svc.browser().signIn(email, winner)).statusCode, 200)
  }
})

t.test('ends sessions and remembered browsers of a verified account, and keeps tokens and second factor', async (t) => {
  const svc = await buildTestApp(t)
  const ada = await enableTwoFactor(svc)
  const device = await challenged(svc, ada.email, { remember: true })
  await device.post('/two-factor-challenge', { code: ada.code() })
  const kept = { cookie: `svc_remember=${await device.cookie('svc_remember')}` }
  const apiToken = await svc.createToken(ada.user)
  const waiting = await challenged(svc, ada.email)
  wait(svc)
  const token = await tokenFor(svc, ada.email)
  t.equal((await resetBy(device, ada.email, token)).statusCode, 200, 'in the signed-in browser')
  t.equal((await device.get('/api/user')).statusCode, 401)
  t.equal((await ada.browser.get('/api/user')).statusCode, 401)
  t.equal((await svc.browser().get('/api/user', kept)).statusCode, 401)
  t.equal(await svc.database.prisma.rememberToken.count(), 0)
  t.equal(
    (await waiting.post('/two-factor-challenge', { code: ada.code() })).statusCode,
    422,
    'nor does a challenge continue',
  )
  t.equal((await svc.bearer(apiToken, 'GET', '/api/user')).statusCode, 200, 'API tokens stay valid')
  const next = svc.browser()
  t.strictSame((await next.signIn(ada.email, password)).json(), { two_factor: true }, 'the second factor is required')
  t.equal((await next.get('/api/user')).statusCode, 401)
  t.equal((await next.post('/two-factor-challenge', { code: ada.code() })).statusCode, 204)

  const strict = await buildTestApp(t, {
    database: svc.where,
    clock: svc.clock,
    settings: { passwords: { reset_revokes_tokens: true } },
  })
  wait(svc)
  t.equal((await reset(strict, ada.email, await tokenFor(strict, ada.email))).statusCode, 200)
  t.equal((await svc.bearer(apiToken, 'GET', '/api/user')).statusCode, 401, 'unless the configuration says otherwise')
})

t.test('sets a first password for users without one, and does nothing for disabled users', async (t) => {
  const svc = await buildTestApp(t)
  const passwordless = await svc.createUser({ password: null })
  t.equal((await reset(svc, passwordless.email, await tokenFor(svc, passwordless.email))).statusCode, 200)
  t.equal((await svc.browser().signIn(passwordless.email, password)).statusCode, 200)

  for (const reveal_unknown_email of [false, true]) {
    const app = await buildTestApp(t, { settings: { passwords: { reveal_unknown_email } } })
    const { email } = await app.createUser()
    const token = await tokenFor(app, email)
    const disable = (disabledAt: Date | null) =>
      app.database.prisma.user.update({ where: { email }, data: { disabledAt } })
    await disable(new Date(0))
    wait(app)
    await (await visitor(app)).post('/forgot-password', { email })
    t.equal((await resetMails(app, email)).length, 1, 'no further mail')
    t.equal((await reset(app, email, token)).statusCode, 422)
    await disable(null)
    t.equal((await app.browser().signIn(email)).statusCode, 200, 'the password is unchanged')
  }
})
