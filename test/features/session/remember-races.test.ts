import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { hour } from '../../support/clock.ts'
import { beforeNextTransaction } from '../../support/meanwhile.ts'
import { present, rememberedBrowser, sessionCount, spaHeaders, tokens } from './remembered.ts'
import { cookieNames, cookiesOf } from './set-cookies.ts'

t.test('returns one new remember cookie and one session for parallel requests of a remembered browser', async (t) => {
  const svc = await buildTestApp(t)
  const { user, cookie } = await rememberedBrowser(svc)
  const together = () => Promise.all(Array.from({ length: 10 }, () => present(svc, cookie)))
  const answers = await together()
  for (const answer of answers) {
    t.equal(answer.statusCode, 200, answer.body)
    t.equal(answer.json().id, user.id)
    t.strictSame(cookieNames(answer), ['XSRF-TOKEN', 'svc_remember', 'svc_session'])
  }
  const successors = new Set(answers.map((answer) => cookiesOf(answer).svc_remember?.value))
  const sessions = new Set(answers.map((answer) => cookiesOf(answer).svc_session?.value))
  t.equal(successors.size, 1)
  t.equal(sessions.size, 1)
  t.notOk(successors.has(cookie))
  t.equal(await sessionCount(svc), 1)
  t.equal((await tokens(svc)).length, 1)
  const events = await svc.database.prisma.event.count({ where: { type: 'login_remembered' } })
  t.equal(events, 1, 'one return, recorded once')

  svc.clock.advance(3 * hour)
  const again = await together()
  t.ok(
    again.every((answer) => answer.statusCode === 200),
    'a lost answer loses nothing, however late',
  )
  t.equal(await sessionCount(svc), 1)
  t.strictSame(new Set(again.map((answer) => cookiesOf(answer).svc_remember?.value)), successors)

  const [successor = ''] = successors
  t.equal((await present(svc, successor)).statusCode, 200)
})

t.test('ends the device and notifies the user when a replaced cookie is presented', async (t) => {
  const svc = await buildTestApp(t)
  const { user, cookie } = await rememberedBrowser(svc)
  const other = svc.browser()
  await other.signIn(user.email, undefined, { remember: true })
  const first = cookiesOf(await present(svc, cookie))
  const second = cookiesOf(await present(svc, first.svc_remember?.value))
  t.equal((await svc.mailbox.to(user.email)).length, 0)
  const replays = await Promise.all(Array.from({ length: 5 }, () => present(svc, cookie)))
  for (const { statusCode } of replays) t.equal(statusCode, 401)
  for (const { svc_session, svc_remember } of [first, second]) {
    const headers = { ...spaHeaders, cookie: `svc_session=${svc_session?.value}` }
    t.equal((await svc.app.inject({ url: '/api/user', headers })).statusCode, 401, 'its sessions ended')
    t.equal((await present(svc, svc_remember?.value)).statusCode, 401, 'its cookies are invalid')
  }
  t.equal((await other.get('/api/user')).statusCode, 200, 'the other device is not affected')
  t.equal((await tokens(svc)).length, 1)
  const mails = await svc.mailbox.to(user.email)
  t.strictSame(
    mails.map(({ subject }) => subject),
    ['A remembered device was signed out'],
  )
  t.equal(await svc.database.prisma.event.count({ where: { type: 'remember_replayed' } }), 1)
})

t.test('ends no device on a forged cookie', async (t) => {
  const svc = await buildTestApp(t)
  const { user, cookie = '' } = await rememberedBrowser(svc)
  const [id, secret = '', tag = ''] = cookie.split('.')
  const other = 'A'.repeat(43)
  for (const made of [
    `${id}.${other}`,
    `${id}.${other}.${tag}`,
    `${id}.${other}.${other}`,
    `${id}.${secret}`,
    `${id}.${secret}.`,
  ]) {
    t.equal((await present(svc, made)).statusCode, 401)
  }
  const elsewhere = await rememberedBrowser(svc)
  const theirs = (elsewhere.cookie ?? '').split('.').slice(1).join('.')
  t.equal((await present(svc, `${id}.${theirs}`)).statusCode, 401, "another device's secret")
  t.equal((await present(svc, cookie)).json().id, user.id)
  t.equal((await svc.mailbox.all()).length, 0)
})

t.test('rejects a remember cookie that was replaced between its lookup and its rotation', async (t) => {
  const svc = await buildTestApp(t)
  const { cookie } = await rememberedBrowser(svc)
  const successor = cookiesOf(await present(svc, cookie)).svc_remember?.value
  await svc.database.prisma.session.deleteMany()
  let overtaking: Awaited<ReturnType<typeof present>> | undefined
  beforeNextTransaction(svc, async () => {
    overtaking = await present(svc, successor)
  })
  const late = await present(svc, cookie)
  t.equal(overtaking?.statusCode, 200)
  t.equal(late.statusCode, 401, late.body)
  t.equal(cookiesOf(late).svc_remember, undefined)
  t.equal(await sessionCount(svc), 1, 'only the successor has a session')
})

t.test('starts a new session for a previous remember cookie whose session ended', async (t) => {
  const svc = await buildTestApp(t, { settings: { session: { absolute_lifetime: '3h' } } })
  const { cookie } = await rememberedBrowser(svc)
  const first = cookiesOf(await present(svc, cookie)).svc_session?.value
  for (let passed = 0; passed < 3; passed++) {
    svc.clock.advance(hour)
    await svc.app.inject({ url: '/api/user', headers: { ...spaHeaders, cookie: `svc_session=${first}` } })
    await svc.app.touches.flush()
  }
  t.equal((await present(svc, cookie)).statusCode, 200)
})

t.test('ends every session of the device on logout, including one that another request started', async (t) => {
  const svc = await buildTestApp(t)
  const { user, spa, cookie } = await rememberedBrowser(svc)
  const stolen = cookiesOf(await present(svc, cookie)).svc_session?.value
  await spa.get('/svc/csrf-cookie')
  t.equal((await spa.post('/login', { email: user.email, password: 'correct horse', remember: true })).statusCode, 200)
  const other = svc.app.inject({ url: '/api/user', headers: { ...spaHeaders, cookie: `svc_session=${stolen}` } })
  t.equal((await other).statusCode, 401)
  const copy = await spa.cookie('svc_remember')
  const apart = cookiesOf(await present(svc, copy)).svc_session?.value
  t.equal(await sessionCount(svc), 2)
  await Promise.all([spa.post('/logout'), present(svc, copy), present(svc, copy)])
  t.equal(await sessionCount(svc), 0)
  const after = await svc.app.inject({ url: '/api/user', headers: { ...spaHeaders, cookie: `svc_session=${apart}` } })
  t.equal(after.statusCode, 401)
})

t.test('accepts a used remember cookie after app.secret was rotated', async (t) => {
  const one = 'the-first-secret-which-is-32-bytes-long'
  const two = 'the-second-secret-that-is-32-bytes-long'
  const before = await buildTestApp(t, { env: { SVC_SECRET: one } })
  const { cookie } = await rememberedBrowser(before)
  const first = cookiesOf(await present(before, cookie)).svc_remember?.value
  const env = { SVC_SECRET: `${two},${one}` }
  const after = await buildTestApp(t, { env, database: before.where, clock: before.clock })
  const again = await present(after, cookie)
  t.equal(again.statusCode, 200)
  const secretOf = (value = '') => value.split('.').slice(0, 2)
  t.strictSame(secretOf(cookiesOf(again).svc_remember?.value), secretOf(first), 'the successor is the same')
  t.equal((await present(after, first)).statusCode, 200)
})

t.test('issues one new remember cookie and one session on two replicas', async (t) => {
  const svc = await buildTestApp(t)
  const replica = await buildTestApp(t, { database: svc.where, clock: svc.clock })
  const { cookie } = await rememberedBrowser(svc)
  const answers = await Promise.all([svc, replica, svc, replica, svc, replica].map((one) => present(one, cookie)))
  t.ok(answers.every((answer) => answer.statusCode === 200))
  for (const name of ['svc_remember', 'svc_session', 'XSRF-TOKEN']) {
    t.equal(new Set(answers.map((answer) => cookiesOf(answer)[name]?.value)).size, 1, name)
  }
  t.equal(await sessionCount(svc), 1)
})

t.test('rejects a superseded remember cookie although its successor is signed in', async (t) => {
  const svc = await buildTestApp(t)
  const { cookie } = await rememberedBrowser(svc)
  const successor = cookiesOf(await present(svc, cookie)).svc_remember?.value
  const answers = await Promise.all([present(svc, successor), present(svc, cookie), present(svc, cookie)])
  t.ok(answers.every((answer) => [200, 401].includes(answer.statusCode)))
  t.equal((await present(svc, cookie)).statusCode, 401)
  t.equal((await tokens(svc)).length, 0, 'its replay ended the device')
})
