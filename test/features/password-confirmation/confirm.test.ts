// engine: none
import t from 'tap'
import { removePassword, strongPassword } from '../../support/accounts.ts'
import { buildTestApp, confirming, type TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { hour, minute, second } from '../../support/clock.ts'
import { buildPasskeyApp, Visitor, withPasskey } from '../passkeys/visitor.ts'

const password = 'correct horse'

async function signedIn(svc: TestApp, more: object = {}): Promise<Browser> {
  const user = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(user.email, password, more)
  return spa
}

const status = (spa: Browser, query = '') => spa.get(`/user/confirmed-password-status${query}`)

t.test('answers 201 to the right password, and reports its age until it expires', async (t) => {
  const svc = await buildTestApp(t, { settings: { ...confirming, passwords: { confirm_timeout: '120s' } } })
  const spa = await signedIn(svc)
  const before = await status(spa)
  t.equal(before.statusCode, 200)
  t.strictSame(before.json(), { confirmed: false }, 'signing in is not a confirmation')
  t.equal(before.headers['x-retry-after'], undefined)
  const answer = await spa.post('/user/confirm-password', { password })
  t.equal(answer.statusCode, 201)
  t.equal(answer.body, '""')
  svc.clock.advance(minute)
  const fresh = await status(spa)
  t.strictSame(fresh.json(), { confirmed: true })
  t.equal(fresh.headers['x-retry-after'], '60', 'the age, as clients know this header')
  t.strictSame((await status(spa, '?seconds=61')).json(), { confirmed: true })
  t.strictSame((await status(spa, '?seconds=60')).json(), { confirmed: false })
  t.strictSame((await status(spa, '?seconds=0')).json(), { confirmed: false })
  for (const odd of ['-1', 'x', '', '1e9', '%00', '9'.repeat(30)]) {
    t.equal((await status(spa, `?seconds=${odd}`)).json().confirmed, true, `the configured time for ${odd}`)
  }
  t.equal((await status(spa, '?seconds=1&seconds=2')).statusCode, 422)
  svc.clock.advance(minute)
  const late = await status(spa)
  t.strictSame(late.json(), { confirmed: false })
  t.equal(late.headers['x-retry-after'], undefined)
  t.equal((await spa.delete('/user')).statusCode, 200, 'valid until the very end')
})

t.test('requires a new confirmation one second after the timeout', async (t) => {
  const svc = await buildTestApp(t, { settings: { ...confirming, passwords: { confirm_timeout: '120s' } } })
  const spa = await signedIn(svc)
  await spa.post('/user/confirm-password', { password })
  svc.clock.advance(120 * second + 1)
  const refused = await spa.delete('/user')
  t.equal(refused.statusCode, 423)
  t.strictSame(refused.json(), { message: 'Password confirmation required.', code: 'password_confirmation_required' })
})

t.test('answers 422 on the password field to every other input', async (t) => {
  const svc = await buildTestApp(t, { settings: { ...confirming, rate_limits: { login: null } } })
  const spa = await signedIn(svc)
  const text = 'The provided password was incorrect.'
  for (const wrong of [
    'x',
    `${password} `,
    ` ${password}`,
    '',
    null,
    undefined,
    5,
    true,
    [password],
    { a: password },
  ]) {
    const answer = await spa.post('/user/confirm-password', { password: wrong })
    t.equal(answer.statusCode, 422, JSON.stringify(wrong))
    t.strictSame(answer.json(), { message: text, code: 'validation_failed', errors: { password: [text] } })
  }
  t.equal((await status(spa)).json().confirmed, false)
  t.equal(await svc.database.prisma.event.count({ where: { type: 'password_confirmed' } }), 0)
})

t.test('applies a confirmation to one session until the session ends', async (t) => {
  const svc = await buildTestApp(t, { settings: confirming })
  const user = await svc.createUser()
  const [here, there] = [svc.browser(), svc.browser()]
  for (const spa of [here, there]) await spa.signIn(user.email, password, { remember: true })
  await here.post('/user/confirm-password', { password })
  t.equal((await status(there)).json().confirmed, false)
  t.equal((await there.delete('/user')).statusCode, 423)
  svc.clock.advance(2 * hour)
  t.equal((await status(here)).statusCode, 200, 'the remembered browser comes back')
  t.equal((await status(here)).json().confirmed, false, 'without a confirmation')
  await here.post('/user/confirm-password', { password })
  await here.signIn(user.email)
  t.equal((await status(here)).json().confirmed, false, 'a new sign-in starts without one')
})

t.test('requires a passkey from a user without a password, and accepts no password', async (t) => {
  const svc = await buildPasskeyApp(t, { ...confirming, rate_limits: { login: null } })
  const { user, authenticator, owner } = await withPasskey(svc)
  await removePassword(svc, user.id)
  const { browser } = owner
  for (const guess of [password, '', null, undefined, 'null', '\u0000'.trim()]) {
    const answer = await browser.post('/user/confirm-password', { password: guess })
    t.equal(answer.statusCode, 422, JSON.stringify(guess))
    t.ok(answer.json().errors.password)
  }
  const second = svc.browser()
  t.equal((await new Visitor(second).login(authenticator)).statusCode, 200)
  for (const guess of [undefined, '', password]) {
    t.equal((await browser.delete('/user/other-sessions', { password: guess })).statusCode, 423)
  }
  t.equal((await second.get('/api/user')).statusCode, 200)
  t.equal((await owner.confirm(authenticator)).statusCode, 200)
  t.equal((await status(browser)).json().confirmed, true)
  t.equal((await browser.delete('/user/other-sessions')).statusCode, 200)
  t.equal((await second.get('/api/user')).statusCode, 401)
  const change = { current_password: '', password: strongPassword, password_confirmation: strongPassword }
  for (const current of ['', 'x', 'null']) {
    const answer = await browser.put('/user/password', { ...change, current_password: current })
    t.equal(answer.statusCode, 422)
    t.ok(answer.json().errors.current_password)
  }
  t.equal((await browser.delete('/user')).statusCode, 200)
})

t.test('rejects a password confirmation without a session', async (t) => {
  const svc = await buildTestApp(t, { settings: confirming })
  const user = await svc.createUser()
  const token = await svc.createToken(user)
  for (const bearer of [null, token]) {
    t.equal((await svc.bearer(bearer, 'POST', '/user/confirm-password', { password })).statusCode, 401)
    t.equal((await svc.bearer(bearer, 'GET', '/user/confirmed-password-status')).statusCode, 401)
  }
  const spa = await signedIn(svc)
  const forged = await spa.post('/user/confirm-password', { password }, { 'x-xsrf-token': 'wrong' })
  t.equal(forged.statusCode, 419)
})

t.test('rejects the password of another user who has just taken over the address', async (t) => {
  const svc = await buildTestApp(t, { settings: confirming })
  const { prisma } = svc.database
  const ada = await svc.createUser({ email: 'ada@example.com' })
  const bob = await svc.createUser({ email: 'bob@example.com', password: strongPassword })
  const spa = svc.browser()
  await spa.signIn(ada.email)
  // The address changes its owner after the session was read and before the password is checked.
  const { loginLimiter } = svc.app
  const attempt = loginLimiter.attempt.bind(loginLimiter)
  loginLimiter.attempt = async (...facts) => {
    await prisma.user.update({ where: { id: BigInt(ada.id) }, data: { email: 'new@example.com' } })
    await prisma.user.update({ where: { id: BigInt(bob.id) }, data: { email: 'ada@example.com' } })
    return attempt(...facts)
  }
  t.equal((await spa.post('/user/confirm-password', { password: strongPassword })).statusCode, 422)
  t.strictSame((await status(spa)).json(), { confirmed: false })
})
