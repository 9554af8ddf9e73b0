// engine: none
import t from 'tap'
import { buildPasskeyApp, withPasskey } from '../features/passkeys/visitor.ts'
import { strongPassword } from '../support/accounts.ts'
import { buildTestApp, type TestApp } from '../support/app.ts'
import { day, hour, second } from '../support/clock.ts'

/** The status of one sign-in from an address, with or without a known browser's cookie. */
async function attempt(svc: TestApp, email: string, password: string, remoteAddress: string, cookie?: string) {
  const answer = await svc.app.inject({
    method: 'POST',
    url: '/login',
    remoteAddress,
    headers: { 'sec-fetch-site': 'same-origin', ...(cookie ? { cookie: `svc_browser=${cookie}` } : {}) },
    payload: { email, password },
  })
  return answer.statusCode
}

let addresses = 0
const nextAddress = () => `198.51.${++addresses >> 8}.${addresses & 255}`

/** Fails from new addresses until the whole account is locked. */
async function lock(svc: TestApp, email: string): Promise<void> {
  for (let i = 0; i < 60; i++) if ((await attempt(svc, email, 'wrong', nextAddress())) === 429) return
  throw new Error('The account was never locked.')
}

t.test('binds a known browser to the password, expires it, and renews its cookie with every sign-in', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const browser = svc.browser()
  const mark = async () => (await browser.cookie('svc_browser')) ?? ''
  await browser.signIn(email)
  const first = await mark()
  svc.clock.advance(hour)
  await browser.signIn(email)
  const second = await mark()
  t.not(second, first)
  const known = async (cookie: string) => (await attempt(svc, email, 'wrong', nextAddress(), cookie)) !== 429
  await lock(svc, email)
  t.ok(await known(second))
  const [expires = '', issued = '', bound = ''] = second.split('.')
  t.notOk(await known([Number(expires) + 1, issued, bound].join('.')), 'a later expiry is not accepted')
  t.notOk(await known([expires, issued].join('.')), 'the password is part of it')
  const other = svc.browser()
  await other.signIn((await svc.createUser()).email)
  t.notOk(await known((await other.cookie('svc_browser')) ?? ''), "another account's cookie")

  const change = { current_password: 'correct horse', password: strongPassword, password_confirmation: strongPassword }
  t.equal((await browser.put('/user/password', change)).statusCode, 200)
  const third = await mark()
  t.notOk(await known(second), 'the cookie from before the password change')
  t.ok(await known(third), 'the browser that changed the password is still known')

  svc.clock.advance(90 * day - second.length)
  await lock(svc, email)
  t.ok(await known(third))
  svc.clock.advance(second.length)
  await lock(svc, email)
  t.notOk(await known(third), 'after 90 days')
})

t.test('does not count a rejection by the account limit against the address', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  await lock(svc, email)
  for (let i = 0; i < 6; i++) t.equal(await attempt(svc, email, 'wrong', '192.0.2.1'), 429)
  svc.clock.advance(31 * second)
  t.equal(await attempt(svc, email, 'correct horse', '192.0.2.1'), 200, 'the address has attempts left')
})

t.test('signs in by passkey while the account is locked', async (t) => {
  const svc = await buildPasskeyApp(t)
  const { user, authenticator, guest } = await withPasskey(svc)
  await lock(svc, user.email)
  t.equal(await attempt(svc, user.email, 'correct horse', nextAddress()), 429)
  const answer = await guest.login(authenticator)
  t.equal(answer.statusCode, 200, answer.body)
  t.equal(await guest.userId(), user.id)
})
