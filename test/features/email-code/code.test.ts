import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { minute } from '../../support/clock.ts'
import { beforeNextTransaction } from '../../support/meanwhile.ts'
import { enableTwoFactor } from '../../support/totp.ts'
import { eventsOf } from '../passkeys/visitor.ts'
import { asking, askPath, codeApp, codePage, enter, mailedCode, otherThan, userOf, verifyPath } from './setup.ts'

t.test('signs a browser in with a mailed code, once', async (t) => {
  const svc = await codeApp(t)
  const user = await svc.createUser()
  const browser = svc.browser()
  await browser.get('/svc/csrf-cookie')
  const asked = await browser.post(askPath, { email: ` ${user.email.toUpperCase()} ` })
  t.equal(asked.statusCode, 202)
  t.match(asked.json(), { status: 'login-code-sent', message: String })
  const code = await mailedCode(svc, user.email)
  t.match(code, /^\d{6}$/)
  t.notMatch(asked.body, code)
  const before = await browser.cookie('svc_session')
  const answer = await enter(browser, ` ${code.slice(0, 3)}-${code.slice(3)} `)
  t.equal(answer.statusCode, 200, answer.body)
  t.match(answer.json(), { two_factor: false, user: { id: user.id, email: user.email }, message: 'Logged in.' })
  t.not(await browser.cookie('svc_session'), before, 'the session has a new id')
  t.equal(await userOf(browser), user.id)
  t.equal((await enter(browser, code)).statusCode, 422)
  t.match(await eventsOf(svc, 'login_code_sent'), [{ userId: user.id }])
  t.match(await eventsOf(svc, 'login'), [{ userId: user.id, data: { method: 'email_code', channel: 'email_code' } }])
  t.match((await svc.mailbox.to(user.email)).at(-1)?.subject, 'New sign-in to your account')
  t.equal(await svc.database.prisma.loginCode.count(), 0)
})

t.test('keeps the code out of the database, the logs and the events', async (t) => {
  const svc = await codeApp(t)
  const { email } = await svc.createUser()
  await asking(svc, email)
  const code = await mailedCode(svc, email)
  const kept = JSON.stringify([
    await svc.database.prisma.loginCode.findMany({ select: { id: true, mac: true, email: true } }),
    await svc.database.prisma.event.findMany({ select: { data: true } }),
    await svc.database.prisma.outbox.findMany({ select: { payload: true } }),
  ])
  t.notMatch(kept, code)
  t.notMatch(svc.logs.join('\n'), code)
})

t.test('accepts a code only in the session that requested it', async (t) => {
  const svc = await codeApp(t)
  const { email } = await svc.createUser()
  const browser = await asking(svc, email)
  const code = await mailedCode(svc, email)
  const stranger = svc.browser()
  await stranger.get('/svc/csrf-cookie')
  t.equal((await enter(stranger, code)).statusCode, 422)
  const attacker = await asking(svc, 'unknown@example.com')
  t.equal((await enter(attacker, code)).statusCode, 422, 'a browser with a code of its own')
  t.equal((await enter(browser, code)).statusCode, 200, 'the failures elsewhere do not count')
})

t.test('accepts five attempts per code, and only the newest code', async (t) => {
  const svc = await codeApp(t)
  const { email } = await svc.createUser()
  const browser = await asking(svc, email)
  const first = await mailedCode(svc, email)
  for (let n = 1; n <= 4; n++) t.equal((await enter(browser, otherThan(first))).statusCode, 422)
  t.equal((await enter(browser, first)).statusCode, 200, 'the fifth attempt')

  const second = await asking(svc, email)
  const used = await mailedCode(svc, email)
  for (let n = 1; n <= 5; n++) t.equal((await enter(second, otherThan(used))).statusCode, 422)
  const sixth = await enter(second, used)
  t.equal(sixth.statusCode, 422)
  t.strictSame(sixth.json().errors, { code: ['The provided code was incorrect or has expired.'] })
  t.equal(await userOf(second), null)

  await second.post(askPath, { email })
  const next = await mailedCode(svc, email)
  if (next !== used) t.equal((await enter(second, used)).statusCode, 422, 'replaced')
  t.equal((await enter(second, next)).statusCode, 200)
})

t.test('rejects a code after ten minutes', async (t) => {
  const svc = await codeApp(t)
  const { email } = await svc.createUser()
  const [early, late] = [await asking(svc, email), await asking(svc, email)]
  const codes = (await svc.mailbox.to(email)).map(({ text }) => /^(\d{3} \d{3})\r?$/m.exec(text)?.[1] ?? '')
  svc.clock.advance(10 * minute - 1)
  const inTime = await Promise.all(codes.map(async (code) => (await enter(early, code)).statusCode))
  t.ok(inTime.includes(200))
  svc.clock.advance(1)
  for (const code of codes) t.equal((await enter(late, code)).statusCode, 422)
  t.equal(await userOf(late), null)
})

t.test('compares five of twenty simultaneous attempts, and accepts the right code once', async (t) => {
  const svc = await codeApp(t)
  const { email } = await svc.createUser()
  const wrong = await asking(svc, email)
  const code = await mailedCode(svc, email)
  const failed = await Promise.all(Array.from({ length: 20 }, () => enter(wrong, otherThan(code))))
  t.strictSame(new Set(failed.map(({ statusCode }) => statusCode)), new Set([422]))
  t.equal((await svc.database.prisma.loginCode.findFirstOrThrow()).attempts, 5)
  t.equal((await enter(wrong, code)).statusCode, 422)

  const right = await asking(svc, email)
  const good = await mailedCode(svc, email)
  const answers = await Promise.all(Array.from({ length: 20 }, () => enter(right, good)))
  t.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 1)
  t.equal(await svc.database.prisma.session.count({ where: { userId: { not: null } } }), 1)
})

t.test('asks for the second factor, and records both methods', async (t) => {
  const svc = await codeApp(t)
  const ada = await enableTwoFactor(svc)
  const browser = await asking(svc, ada.email, { remember: true })
  const answer = await enter(browser, await mailedCode(svc, ada.email))
  t.strictSame(answer.json(), { two_factor: true })
  t.equal(await userOf(browser), null)
  t.equal((await browser.post('/two-factor-challenge', { code: ada.wrong() })).statusCode, 422)
  const done = await browser.post('/two-factor-challenge', { code: ada.code() })
  t.equal(done.statusCode, 204, done.body)
  t.equal(await userOf(browser), ada.user.id)
  t.ok(await browser.cookie('svc_remember'), 'the browser is remembered')
  const rows = await svc.database.prisma.session.findMany({
    where: { userId: BigInt(ada.user.id) },
    orderBy: { createdAt: 'asc' },
  })
  t.match(JSON.parse(rows.at(-1)?.data ?? '').proof.methods, ['email', 'otp', 'mfa'])
})

t.test('does nothing for disabled accounts, also when they are disabled after the mail', async (t) => {
  const svc = await codeApp(t)
  const { email } = await svc.createUser()
  const disable = () => svc.database.prisma.user.update({ where: { email }, data: { disabledAt: new Date(0) } })
  const browser = await asking(svc, email)
  const code = await mailedCode(svc, email)
  await disable()
  t.equal((await enter(browser, code)).statusCode, 422)
  t.equal(await userOf(browser), null)
  await asking(svc, email)
  t.equal((await svc.mailbox.to(email)).length, 1)
})

t.test('starts no session for an account that is disabled while the code is checked', async (t) => {
  const svc = await codeApp(t)
  const { email } = await svc.createUser()
  for (const path of [verifyPath, codePage]) {
    await svc.database.prisma.user.update({ where: { email }, data: { disabledAt: null } })
    const browser = await asking(svc, email)
    const code = await mailedCode(svc, email)
    beforeNextTransaction(svc, () =>
      svc.database.prisma.user.update({ where: { email }, data: { disabledAt: new Date(0) } }),
    )
    t.equal((await browser.post(path, { code }, { accept: 'text/html, application/json' })).statusCode, 401, path)
    t.equal(await userOf(browser), null)
  }
})

t.test('claims an account whose address was never verified', async (t) => {
  const svc = await codeApp(t)
  const { email, id } = await svc.createUser({ verified: false })
  const attacker = svc.browser()
  await attacker.signIn(email)
  const browser = await asking(svc, email)
  const answer = await enter(browser, await mailedCode(svc, email))
  t.equal(answer.statusCode, 200, answer.body)
  t.type(answer.json().user.email_verified_at, 'string')
  t.match(answer.json().message, 'The password was removed, because it was set before this address was verified.')
  const notice = (await svc.mailbox.to(email)).find(({ subject }) => subject === 'Your password was removed')
  t.match(notice?.text, 'could belong to someone else')
  t.equal(await userOf(attacker), null, 'the earlier session ended')
  t.equal((await svc.browser().signIn(email)).statusCode, 401, 'the earlier password does not work')
  t.match(await eventsOf(svc, 'account_claimed'), [{ userId: id }])
})

t.test('keeps the password and the sessions of an account with a verified address', async (t) => {
  const svc = await codeApp(t)
  const { email, id } = await svc.createUser()
  const other = svc.browser()
  await other.signIn(email)
  await enter(await asking(svc, email), await mailedCode(svc, email))
  t.equal(await userOf(other), id)
  t.equal((await svc.browser().signIn(email)).statusCode, 200)
  t.strictSame(await eventsOf(svc, 'account_claimed'), [])
})

t.test('does not claim an unverified account with a second factor', async (t) => {
  const svc = await codeApp(t)
  const user = await svc.createUser({ verified: false })
  const ada = await enableTwoFactor(svc, user)
  const browser = await asking(svc, ada.email)
  t.strictSame((await enter(browser, await mailedCode(svc, ada.email))).json(), { two_factor: true })
  t.strictSame(await eventsOf(svc, 'account_claimed'), [])
  t.equal((await ada.browser.get('/api/user')).json().email_verified_at, null)
})

t.test('rejects invalid input, and requests without the CSRF token', async (t) => {
  const svc = await codeApp(t)
  const { email } = await svc.createUser()
  const browser = await asking(svc, email)
  for (const value of [
    null,
    '',
    0,
    true,
    [],
    {},
    'a',
    'a@b.c\0',
    '\ud800@b.c',
    'a\r\nBcc: x@y.z@b.c',
    'x'.repeat(90_000),
  ])
    t.equal((await browser.post(askPath, { email: value })).statusCode, 422, JSON.stringify(value)?.slice(0, 40))
  for (const value of [null, '', 0, true, [], {}, 'x'.repeat(33), '１２３４５６', "' OR 1=1 --"])
    t.equal((await browser.post(verifyPath, { code: value })).statusCode, 422, JSON.stringify(value)?.slice(0, 40))
  const code = await mailedCode(svc, email)
  for (const headers of [
    { 'x-xsrf-token': undefined },
    { 'x-xsrf-token': 'x' },
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example', referer: undefined },
  ]) {
    t.equal((await browser.post(askPath, { email }, headers)).statusCode, 419)
    t.equal((await browser.post(verifyPath, { code }, headers)).statusCode, 419)
  }
  t.equal((await svc.mailbox.to(email)).length, 1)
})

t.test('has no routes, pages and mails unless it is configured', async (t) => {
  const svc = await buildTestApp(t)
  const { email } = await svc.createUser()
  const browser = svc.browser()
  await browser.get('/svc/csrf-cookie')
  t.equal((await browser.post(askPath, { email })).statusCode, 404)
  t.equal((await browser.post(verifyPath, { code: '123456' })).statusCode, 404)
  for (const path of ['/oauth/email-code', codePage]) {
    t.equal((await browser.get(path)).statusCode, 404)
    t.equal((await browser.post(path, {}, { accept: 'text/html' })).statusCode, 404)
  }
  t.notMatch((await browser.get('/oauth/login', { accept: 'text/html' })).body, 'email-code')
  t.strictSame(await svc.mailbox.all(), [])
})

t.test('deletes the codes of a deleted account', async (t) => {
  const svc = await codeApp(t)
  const { email } = await svc.createUser()
  await asking(svc, email)
  await asking(svc, 'unknown@example.com')
  const browser = svc.browser()
  await browser.signIn(email)
  await browser.post('/user/confirm-password', { password: 'correct horse' })
  t.match((await browser.delete('/user')).statusCode, /^20/)
  t.match(await svc.database.prisma.loginCode.findMany(), [{ email: 'unknown@example.com' }])
})
