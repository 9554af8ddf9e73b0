// engine: none
import t, { type Test } from 'tap'
import { passwordFingerprint } from '../../../src/auth/access/password-fingerprint.ts'
import { hashPassword } from '../../../src/platform/crypto/password.ts'
import { removePassword } from '../../support/accounts.ts'
import { buildTestApp, confirming, type TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { minute } from '../../support/clock.ts'
import { eventsOf } from '../passkeys/visitor.ts'

const ask = (browser: Browser) => browser.post('/user/confirmation-code')
const enter = (browser: Browser, code: unknown) => browser.post('/user/confirm-password', { code })
const isConfirmed = async (browser: Browser) => (await browser.get('/user/confirmed-password-status')).json().confirmed

/** Signed-in browsers of one user, whose password is removed afterwards. */
async function withoutPassword(t: Test, settings: object = {}) {
  const svc = await buildTestApp(t, { settings: { ...confirming, rate_limits: { mail: null }, ...settings } })
  const user = await svc.createUser()
  const [browser, other] = [svc.browser(), svc.browser()]
  await browser.signIn(user.email)
  await other.signIn(user.email)
  await removePassword(svc, user.id)
  return { svc, user, browser, other }
}

/** The code of the last mail. */
async function mailed(svc: TestApp, to: string): Promise<string> {
  const code = await svc.mailbox.find(to, /^([2-9A-HJ-NP-Z]{4}-[2-9A-HJ-NP-Z]{4})\r?$/m)
  if (code === '') throw new Error(`No mail to ${to} has a code.`)
  return code
}

t.test('confirms a user without a password by a mailed code, once, in its session', async (t) => {
  const { svc, user, browser, other } = await withoutPassword(t)
  const answer = await ask(browser)
  t.equal(answer.statusCode, 202)
  t.match(answer.json(), { status: 'confirmation-code-sent', message: String })
  const code = await mailed(svc, user.email)
  t.notMatch(answer.body, code)
  t.equal((await enter(other, code)).statusCode, 422, 'another session of the same user')
  t.equal(await isConfirmed(other), false)
  const right = await enter(browser, ` ${code.toLowerCase().replace('-', ' ')} `)
  t.equal(right.statusCode, 201, right.body)
  t.equal(right.body, '""')
  t.equal(await isConfirmed(browser), true)
  t.equal((await enter(browser, code)).statusCode, 422, 'used up')
  t.match(await eventsOf(svc, 'confirmation_code_sent'), [{ userId: user.id }])
  t.match(await eventsOf(svc, 'password_confirmed'), [{ userId: user.id, data: { method: 'mail' } }])
  const kept = JSON.stringify([
    await svc.database.prisma.session.findMany({ select: { data: true } }),
    await svc.database.prisma.event.findMany({ select: { data: true } }),
  ])
  t.notMatch(kept, code)
  t.notMatch(kept, code.replace('-', ''))
})

t.test('rejects a wrong, old or replaced code', async (t) => {
  const { svc, user, browser } = await withoutPassword(t)
  const refused = async (code: unknown, name: string) => {
    const answer = await enter(browser, code)
    t.equal(answer.statusCode, 422, name)
    t.same(answer.json().errors, { code: ['The provided code was incorrect or has expired.'] }, name)
  }
  await refused('AAAA-AAAA', 'none was sent')
  await ask(browser)
  const first = await mailed(svc, user.email)
  for (const odd of ['', 'AAAA-AAAA', first.slice(1), `${first}A`, 7, true, [first], { code: first }]) {
    await refused(odd, JSON.stringify(odd))
  }
  await ask(browser)
  const second = await mailed(svc, user.email)
  t.not(second, first)
  await refused(first, 'replaced')
  svc.clock.advance(10 * minute)
  await refused(second, 'ten minutes later')
  t.equal(await isConfirmed(browser), false)
  await ask(browser)
  svc.clock.advance(10 * minute - 1)
  t.equal((await enter(browser, await mailed(svc, user.email))).statusCode, 201)
})

t.test('sends codes only to signed-in users without a password and with a verified address', async (t) => {
  const { svc, user, browser } = await withoutPassword(t)
  t.equal((await ask(svc.browser())).statusCode, 401)
  t.equal((await browser.post('/user/confirmation-code', {}, { 'x-xsrf-token': undefined })).statusCode, 419)
  const bearer = await svc.createToken(user)
  t.equal((await svc.bearer(bearer, 'POST', '/user/confirmation-code')).statusCode, 401)
  const ada = svc.browser()
  await ada.signIn((await svc.createUser({ email: 'ada@example.com' })).email)
  for (const answer of [await ask(ada), await enter(ada, 'AAAA-AAAA')]) {
    t.equal(answer.statusCode, 422)
    t.same(answer.json().errors, { code: ['This account has a password. Confirm it instead of a code.'] })
  }
  await svc.database.prisma.user.update({ where: { id: BigInt(user.id) }, data: { emailVerifiedAt: null } })
  const pages = [
    await browser.post('/account/confirm', { code: 'AAAA-AAAA' }),
    await browser.post('/account/confirm/code', {}),
  ]
  for (const answer of [await ask(browser), await enter(browser, 'AAAA-AAAA'), ...pages]) {
    t.equal(answer.statusCode, 403)
    t.match(answer.json(), { code: 'email_unverified' })
  }
  t.same(await svc.mailbox.all(), [])
})

t.test('rejects a code once the user has a password', async (t) => {
  const { svc, user, browser } = await withoutPassword(t)
  await ask(browser)
  const code = await mailed(svc, user.email)
  const password = await hashPassword('a new password')
  await svc.database.prisma.user.update({ where: { id: BigInt(user.id) }, data: { password } })
  await svc.database.prisma.session.updateMany({ data: { passwordFingerprint: passwordFingerprint(password) } })
  const answer = await enter(browser, code)
  t.equal(answer.statusCode, 422)
  t.match(answer.json().errors.code[0], /has a password/)
})

t.test('counts codes against the mail limit, and keeps the last code valid after a rejection', async (t) => {
  const { svc, user, browser } = await withoutPassword(t, { rate_limits: { mail: '2/1m' } })
  let code = ''
  for (const expected of [202, 202, 429]) {
    t.equal((await ask(browser)).statusCode, expected)
    // Each mail arrives before the next request: two that are sent together may arrive in any order.
    code = await mailed(svc, user.email)
  }
  t.equal((await enter(browser, code)).statusCode, 201)
})
