import t from 'tap'
import { pruneExpired } from '../../../src/app/upkeep.ts'
import { openAdmin } from '../../support/admin.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { day } from '../../support/clock.ts'
import { runCommandOn } from '../../support/command.ts'
import { ScriptlessBrowser } from '../../support/plain.ts'
import { stopTime } from '../../support/time.ts'
import { enableTwoFactor } from '../../support/totp.ts'

const settings = { login: { trust_browser: '30d' }, rate_limits: { login: null, two_factor: null } }

const build = (t: Parameters<typeof buildTestApp>[0], more: object = {}) =>
  buildTestApp(t, { settings: { ...settings, ...more }, clock: stopTime(t) })

/** A user with a second factor, and a browser that the user trusts. */
async function trusting(svc: TestApp, email = 'ada@example.com') {
  const user = await svc.createUser({ email })
  const factor = await enableTwoFactor(svc, user)
  const browser = svc.browser()
  t.match((await browser.signIn(email)).json(), { two_factor: true })
  svc.clock.advance(60_000)
  const answer = await browser.post('/two-factor-challenge', { code: factor.code(), trust_browser: true })
  t.equal(answer.statusCode, 204)
  return { user, factor, browser }
}

/** Whether a sign-in in this browser asks for the second factor. */
async function isAsked(browser: Browser, email = 'ada@example.com', password?: string): Promise<boolean> {
  await browser.post('/logout')
  const answer = await browser.signIn(email, password)
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return answer.json().two_factor
}

t.test('asks for no second factor in a browser that the user trusted, for the configured time', async (t) => {
  const svc = await build(t)
  const { browser } = await trusting(svc)
  t.equal(await isAsked(browser), false)
  t.match((await browser.get('/api/user')).json(), { email: 'ada@example.com' })
  t.equal(await isAsked(svc.browser()), true, 'another browser')
  svc.clock.advance(29 * day)
  t.equal(await isAsked(browser), false)
  svc.clock.advance(day)
  t.equal(await isAsked(browser), true, 'use does not extend the time')
  const [login] = await svc.database.prisma.event.findMany({
    where: { type: 'login', data: { contains: 'trusted_browser' } },
  })
  t.ok(login)
  const [trusted] = await svc.database.prisma.event.findMany({ where: { type: 'browser_trusted' } })
  t.ok(trusted)
})

t.test('trusts nothing unless the configuration, the user and a code say so', async (t) => {
  const off = await build(t, { login: {} })
  t.equal(await isAsked((await trusting(off)).browser), true, 'without login.trust_browser')
  t.equal(await off.database.prisma.trustedBrowser.count(), 0)

  const svc = await build(t)
  const user = await svc.createUser({ email: 'ada@example.com' })
  const factor = await enableTwoFactor(svc, user)
  const answer = async (body: () => object) => {
    const browser = svc.browser()
    await browser.signIn(user.email)
    svc.clock.advance(60_000)
    await browser.post('/two-factor-challenge', body())
    return isAsked(browser)
  }
  t.equal(await answer(() => ({ code: factor.code() })), true, 'without the option')
  t.equal(await answer(() => ({ code: factor.code(), trust_browser: false })), true)
  t.equal(await answer(() => ({ code: '000000', trust_browser: true })), true, 'after a wrong code')
  const codes = (await factor.browser.get('/user/two-factor-recovery-codes')).json()
  t.equal(await answer(() => ({ recovery_code: codes[0], trust_browser: true })), true, 'after a recovery code')
  t.equal(await svc.database.prisma.trustedBrowser.count(), 0)
})

t.test('ends with a new password, another second factor, and a revocation', async (t) => {
  const svc = await build(t)
  const { user, browser } = await trusting(svc)
  await browser.put('/user/password', {
    current_password: 'correct horse',
    ...{ password: 'another long password', password_confirmation: 'another long password' },
  })
  t.equal(await isAsked(browser, user.email, 'another long password'), true, 'a new password')

  const second = await trusting(svc, 'bob@example.com')
  await svc.database.prisma.user.update({
    where: { id: BigInt(second.user.id) },
    data: { twoFactorConfirmedAt: new Date(svc.clock.now()) },
  })
  t.equal(await isAsked(second.browser, 'bob@example.com'), true, 'another second factor')

  const third = await trusting(svc, 'eve@example.com')
  const [listed] = (await third.browser.get('/user/trusted-browsers')).json()
  t.match(listed, { id: Number, created_at: String, last_used_at: String, expires_at: String })
  t.notMatch(JSON.stringify(listed), /hash|token/)
  const own = `/user/trusted-browsers/${listed.id}`
  const thief = svc.browser()
  await svc.createUser({ email: 'thief@example.com' })
  await thief.signIn('thief@example.com')
  t.equal((await thief.delete(own)).statusCode, 404, 'another user cannot revoke it')
  t.strictSame((await thief.get('/user/trusted-browsers')).json(), [])
  for (const path of ['/user/trusted-browsers/x', '/user/trusted-browsers/99999999999999999999']) {
    t.equal((await third.browser.delete(path)).statusCode, 404, path)
  }
  t.equal((await third.browser.delete(own)).statusCode, 204)
  t.equal((await third.browser.delete(own)).statusCode, 404)
  t.equal(await isAsked(third.browser, 'eve@example.com'), true, 'a revocation')

  const fourth = await trusting(svc, 'dan@example.com')
  await runCommandOn(svc, 'user:disable', '--email=dan@example.com')
  await runCommandOn(svc, 'user:enable', '--email=dan@example.com')
  t.equal(await isAsked(fourth.browser, 'dan@example.com'), true, 'a disabled account')
})

t.test('gives every trust a new token, and keeps that of other users of the browser', async (t) => {
  const svc = await build(t)
  const { browser } = await trusting(svc)
  const planted = await browser.cookie('svc_trusted')
  const bob = await svc.createUser({ email: 'bob@example.com' })
  const factor = await enableTwoFactor(svc, bob)
  await browser.post('/logout')
  await browser.signIn('bob@example.com')
  svc.clock.advance(60_000)
  await browser.post('/two-factor-challenge', { code: factor.code(), trust_browser: true })
  t.not(await browser.cookie('svc_trusted'), planted)
  t.equal(await isAsked(browser, 'bob@example.com'), false)
  t.equal(await isAsked(browser), false, 'the first user')
  const rows = await svc.database.prisma.trustedBrowser.findMany()
  t.equal(new Set(rows.map(({ tokenHash }) => tokenHash)).size, 1)
  t.notMatch(
    JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
    String(planted),
  )

  const attacker = svc.browser()
  await attacker.jar.setCookie(`svc_trusted=${planted}; Path=/`, 'http://localhost:8000')
  t.equal(await isAsked(attacker, 'bob@example.com'), true, 'the former token is worth nothing')
})

t.test('does not count as a second factor where one is required', async (t) => {
  const guard = { rules: [{ hosts: ['api.example.com'], second_factor: true }] }
  const svc = await build(t, { guard, server: { trust_proxy: ['127.0.0.1'] } })
  const { browser } = await trusting(svc)
  const ask = () =>
    browser.get('/svc/guard', {
      ...{ 'x-original-method': 'GET', 'x-original-url': 'http://api.example.com/', accept: 'application/json' },
    })
  t.equal((await ask()).statusCode, 200, 'after a code')
  t.equal(await isAsked(browser), false)
  const refused = await ask()
  t.equal(refused.statusCode, 403)
  t.match(refused.json(), { code: 'second_factor_required' })
  t.equal((await browser.delete('/user')).statusCode, 423, 'nor as a recent confirmation')
})

t.test('keeps at most 20 browsers, deletes expired ones, and exports them', async (t) => {
  const svc = await build(t)
  const { user, factor, browser } = await trusting(svc)
  for (let count = 0; count < 21; count++) {
    const other = svc.browser()
    await other.signIn(user.email)
    svc.clock.advance(60_000)
    await other.post('/two-factor-challenge', { code: factor.code(), trust_browser: true })
  }
  t.equal(await svc.database.prisma.trustedBrowser.count(), 20)
  t.equal(await isAsked(browser), true, 'the oldest one')
  await browser.post('/two-factor-challenge', { code: factor.code() })
  svc.clock.advance(60_000)
  const other = svc.browser()
  await other.signIn(user.email)
  await other.post('/two-factor-challenge', { code: factor.code() })
  await other.post('/user/confirm-password', { password: 'correct horse' })
  t.equal((await other.get('/user/export')).json().trusted_browsers.length, 20)
  svc.clock.advance(31 * day)
  await pruneExpired(svc.app)
  t.equal(await svc.database.prisma.trustedBrowser.count(), 0)
})

t.test('works on the pages without JavaScript', async (t) => {
  const svc = await build(t)
  const user = await svc.createUser({ email: 'ada@example.com' })
  const factor = await enableTwoFactor(svc, user)
  const page = new ScriptlessBrowser(svc)
  await page.send('/oauth/login', { email: user.email, password: 'correct horse' })
  t.match((await page.open('/oauth/login')).body, 'name="trust_browser"')
  svc.clock.advance(60_000)
  await page.send('/oauth/login', { code: factor.code(), trust_browser: '1' })
  t.equal(await page.user(), user.id)
  await svc.database.prisma.session.deleteMany()
  await page.send('/oauth/login', { email: user.email, password: 'correct horse' })
  t.equal(await page.user(), user.id, 'without a code')
  const section = (await page.open('/account/two-factor')).body
  const [, action = ''] = /action="(\/account\/two-factor\/browsers\/\d+\/revoke)"/.exec(section) ?? []
  const [, xsrf = ''] = /name="_token" value="([^"]+)"/.exec(section) ?? []
  t.equal((await page.post(action, { _token: xsrf })).statusCode, 303)
  t.equal((await page.post(action, { _token: xsrf })).statusCode, 404)
  t.notMatch((await page.open('/account/two-factor')).body, 'id="trusted-browsers"')
})

t.test('ends when an administrator resets the second factor', async (t) => {
  const { svc, call } = await openAdmin(t, settings)
  const { user, browser } = await trusting(svc)
  await call('PATCH', `/users/${user.id}`, { reset_two_factor: true })
  t.equal(await isAsked(browser), false, 'there is none')
  await enableTwoFactor(svc, user)
  t.equal(await isAsked(browser), true)
})
