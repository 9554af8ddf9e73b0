// engine: none
import t from 'tap'
import { buildTestApp, confirming, type TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { minute, second } from '../../support/clock.ts'
import { challenged, enableTwoFactor } from '../../support/totp.ts'
import { asking, codeApp, enter, mailedCode } from '../email-code/setup.ts'
import { buildPasskeyApp, withPasskey } from '../passkeys/visitor.ts'
import { buildSocial, Visitor } from '../social/visitor.ts'

const page = { accept: 'text/html' }

/** Whether a change that needs a confirmation is allowed, in JSON and on the pages. */
async function isConfirmed({ browser }: { browser: Browser }): Promise<boolean> {
  const { confirmed } = (await browser.get('/user/confirmed-password-status')).json()
  const html = await browser.get('/account/data/delete', page)
  const json = await browser.get('/user/two-factor-recovery-codes')
  if ((json.statusCode === 200) !== confirmed) throw new Error(`JSON answers ${json.statusCode}`)
  if ((html.statusCode === 200) !== confirmed) throw new Error(`The page answers ${html.statusCode}`)
  return confirmed
}

async function signedIn(svc: TestApp) {
  const { email } = await svc.createUser()
  const browser = svc.browser()
  await browser.signIn(email)
  return { browser, email }
}

t.test('a sign-in by password counts as the confirmation for fifteen minutes', async (t) => {
  const svc = await buildTestApp(t)
  const person = await signedIn(svc)
  t.equal(await isConfirmed(person), true)
  svc.clock.advance(15 * minute - second)
  t.equal(await isConfirmed(person), true)
  svc.clock.advance(second)
  t.equal(await isConfirmed(person), false)
  await person.browser.post('/user/confirm-password', { password: 'correct horse' })
  svc.clock.advance(16 * minute)
  t.equal(await isConfirmed(person), true, 'a confirmation has its own time')
})

t.test('a sign-in counts only after the second factor', async (t) => {
  const svc = await buildTestApp(t)
  const ada = await enableTwoFactor(svc)
  const browser = await challenged(svc, ada.email)
  t.equal((await browser.get('/user/confirmed-password-status')).statusCode, 401)
  await browser.post('/two-factor-challenge', { code: ada.code() })
  t.equal(await isConfirmed({ browser }), true)
})

t.test('a sign-in by passkey counts, and one by a mailed code does not', async (t) => {
  const svc = await buildPasskeyApp(t, { login: { email_code: true } })
  const { user, authenticator, guest } = await withPasskey(svc)
  t.equal((await guest.login(authenticator)).statusCode, 200)
  t.equal(await isConfirmed(guest), true)
  const browser = await asking(svc, user.email)
  t.equal((await enter(browser, await mailedCode(svc, user.email))).statusCode, 200)
  t.equal(await isConfirmed({ browser }), false)
  const { options } = (await browser.get('/passkeys/confirm/options')).json()
  const credential = authenticator.assert(options)
  t.equal((await browser.post('/passkeys/confirm', { credential })).statusCode, 200)
  t.equal(await isConfirmed({ browser }), true)
})

t.test('a mailed code with the code of an authenticator app does not count', async (t) => {
  const svc = await codeApp(t)
  const ada = await enableTwoFactor(svc)
  const browser = await asking(svc, ada.email)
  await enter(browser, await mailedCode(svc, ada.email))
  await browser.post('/two-factor-challenge', { code: ada.code() })
  t.equal(await isConfirmed({ browser }), false)
})

t.test('a remembered browser that comes back does not count', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const browser = svc.browser()
  await browser.signIn(email, 'correct horse', { remember: true })
  const remember = await browser.cookie('svc_remember')
  const later = svc.browser()
  await later.jar.setCookie(`svc_remember=${remember}; Path=/`, 'http://localhost:8000/')
  t.equal((await later.get('/api/user')).statusCode, 200)
  t.equal(await isConfirmed({ browser: later }), false)
})

t.test('the configuration shortens the time or turns it off', async (t) => {
  for (const [settings, times] of [
    [{ session: { confirmed_by_sign_in: '2m' } }, [true, false]],
    [{ passwords: { confirm_timeout: '90s' } }, [true, false]],
    [confirming, [false, false]],
    // Helm reads off as false.
    [{ session: { confirmed_by_sign_in: false } }, [false, false]],
  ] as const) {
    const svc = await buildTestApp(t, { settings })
    const person = await signedIn(svc)
    const first = await isConfirmed(person)
    svc.clock.advance(2 * minute)
    t.same([first, await isConfirmed(person)], times, JSON.stringify(settings))
  }
})

t.test('a sign-in at a provider does not count', async (t) => {
  const svc = await buildSocial(t)
  const grace = new Visitor(svc)
  await grace.signIn('grace')
  t.ok(await grace.user())
  t.equal(await isConfirmed({ browser: grace.browser }), false)
})
