import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { hour } from '../../support/clock.ts'
import { present, remembered, sessionCount, spaHeaders, tokens } from './remembered.ts'
import { cookieNames, cookiesOf } from './set-cookies.ts'

t.test('parallel requests of a remembered browser share one successor and one session', async (t) => {
  const svc = await buildTestApp(t)
  const { user, cookie } = await remembered(svc)
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
  t.equal(events, 1, 'one coming back, told once')

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
  t.equal((await present(svc, cookie)).statusCode, 401, 'the successor was presented: its predecessor is dead')
  t.equal((await present(svc, successor)).statusCode, 200, 'and the successor of that one was not')
})

t.test('a used session of a predecessor that grew too old is replaced', async (t) => {
  const svc = await buildTestApp(t, { settings: { session: { absolute_lifetime: '3h' } } })
  const { cookie } = await remembered(svc)
  const first = cookiesOf(await present(svc, cookie)).svc_session?.value
  for (let passed = 0; passed < 3; passed++) {
    svc.clock.advance(hour)
    await svc.app.inject({ url: '/api/user', headers: { ...spaHeaders, cookie: `svc_session=${first}` } })
    await svc.app.touches.flush()
  }
  t.equal((await present(svc, cookie)).statusCode, 200)
})

t.test('a logout ends every session of its device, also one that another request began', async (t) => {
  const svc = await buildTestApp(t)
  const { user, spa, cookie } = await remembered(svc)
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

t.test('the secret may change between a cookie and its successor', async (t) => {
  const one = 'the-first-secret-which-is-32-bytes-long'
  const two = 'the-second-secret-that-is-32-bytes-long'
  const before = await buildTestApp(t, { env: { SVC_SECRET: one } })
  const { cookie } = await remembered(before)
  const first = cookiesOf(await present(before, cookie)).svc_remember?.value
  const env = { SVC_SECRET: `${two},${one}` }
  const after = await buildTestApp(t, { env, database: before.where, clock: before.clock })
  const again = await present(after, cookie)
  t.equal(again.statusCode, 200)
  t.equal(cookiesOf(again).svc_remember?.value, first, 'the successor is the one that was handed out')
  t.equal((await present(after, first)).statusCode, 200)
})

t.test('two replicas agree on one successor and one session', async (t) => {
  const svc = await buildTestApp(t)
  const replica = await buildTestApp(t, { database: svc.where, clock: svc.clock })
  const { cookie } = await remembered(svc)
  const answers = await Promise.all([svc, replica, svc, replica, svc, replica].map((one) => present(one, cookie)))
  t.ok(answers.every((answer) => answer.statusCode === 200))
  for (const name of ['svc_remember', 'svc_session', 'XSRF-TOKEN']) {
    t.equal(new Set(answers.map((answer) => cookiesOf(answer)[name]?.value)).size, 1, name)
  }
  t.equal(await sessionCount(svc), 1)
})

t.test('who comes late with a predecessor is not signed in beside its successor', async (t) => {
  const svc = await buildTestApp(t)
  const { cookie } = await remembered(svc)
  const successor = cookiesOf(await present(svc, cookie)).svc_remember?.value
  const answers = await Promise.all([present(svc, successor), present(svc, cookie), present(svc, cookie)])
  t.equal(answers[0]?.statusCode, 200)
  t.ok(answers.every((answer) => [200, 401].includes(answer.statusCode)))
  t.equal((await present(svc, cookie)).statusCode, 401)
  t.equal((await tokens(svc)).length, 1)
})
