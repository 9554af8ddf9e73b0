import type { FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import type { Browser } from '../../support/browser.ts'
import { day, hour, minute, second } from '../../support/clock.ts'

const rowsOf = (svc: TestApp) => svc.database.prisma.session.findMany({ orderBy: { createdAt: 'asc' } })

/** A request of this browser in a slow handler: its session was read and may be saved later. */
async function openRequest(svc: TestApp, browser: Browser): Promise<FastifyRequest> {
  const cookie = `svc_session=${await browser.cookie('svc_session')}`
  const request = { headers: { cookie }, server: svc.app } as FastifyRequest
  await svc.app.sessions.read(request, {} as FastifyReply)
  return request
}

async function save(request: FastifyRequest, facts: object): Promise<void> {
  Object.assign(request.session, facts)
  await request.session.save()
}

t.test('records use once a minute, outside the request', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(user.email)
  const [before] = await rowsOf(svc)
  const began = svc.clock.now()
  t.equal(before?.lastSeenAt.getTime(), began)
  t.match(before, { ipAddress: '203.0.113.77', createdAt: new Date(began) })
  t.not(before?.id, (await spa.cookie('svc_session'))?.split('.')[0], 'the row does not contain the id')
  svc.clock.advance(59 * second)
  for (let i = 0; i < 5; i++) await spa.get('/api/user')
  await svc.app.touches.flush()
  t.strictSame(await rowsOf(svc), [before], 'nothing is written within a minute')
  svc.clock.advance(second)
  await spa.get('/api/user')
  t.strictSame(await rowsOf(svc), [before], 'nothing is written by the request')
  await svc.app.touches.flush()
  t.strictSame(await rowsOf(svc), [{ ...before, lastSeenAt: new Date(began + minute) }])
})

t.test('ends an idle session, and treats its id as anonymous', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(user.email)
  svc.clock.advance(2 * hour - second)
  t.equal((await spa.get('/api/user')).statusCode, 200)
  svc.clock.advance(second)
  const cookie = await spa.cookie('svc_session')
  t.equal((await spa.get('/api/user')).statusCode, 401)
  await spa.get('/svc/csrf-cookie')
  t.equal(await spa.cookie('svc_session'), cookie, 'a valid id is kept')
  const request = await openRequest(svc, spa)
  t.equal(request.session.state?.row?.user ?? null, null)
  await save(request, { note: 'anonymous' })
  t.match(await rowsOf(svc), [{ userId: null, data: '{"note":"anonymous"}' }], 'the ended row is replaced')
  t.equal((await spa.get('/api/user')).statusCode, 401)
  t.equal((await spa.post('/login', { email: user.email, password: 'correct horse' })).statusCode, 200)
  t.not(await spa.cookie('svc_session'), cookie)
  t.equal((await rowsOf(svc)).length, 1, 'signing in replaces the anonymous row')
})

t.test('extends a session by use, up to its absolute lifetime', async (t) => {
  const svc = await buildTestApp(t, { settings: { session: { absolute_lifetime: '5h' } } })
  const user = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(user.email)
  for (let passed = 1; passed < 5; passed++) {
    svc.clock.advance(hour)
    t.equal((await spa.get('/api/user')).statusCode, 200, `after ${passed} h`)
    await svc.app.touches.flush()
  }
  svc.clock.advance(hour)
  t.equal((await spa.get('/api/user')).statusCode, 401, 'after 5 h')
})

t.test('stores an anonymous session while it has data, and extends it by use', async (t) => {
  const svc = await buildTestApp(t)
  const spa = svc.browser()
  await spa.get('/svc/csrf-cookie')
  await save(await openRequest(svc, spa), { step: 1 })
  const at = async () => Reflect.get((await openRequest(svc, spa)).session, 'step')
  t.equal(await at(), 1)
  svc.clock.advance(90 * minute)
  await spa.get('/svc/csrf-cookie')
  await svc.app.touches.flush()
  svc.clock.advance(90 * minute)
  t.equal(await at(), 1)
  svc.clock.advance(2 * hour)
  t.equal(await at(), undefined)
  t.match(await rowsOf(svc), [{ userId: null }])
})

t.test('does not restore an ended session from a slow request', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(user.email)
  const thief = await spa.cookie('svc_session')
  const slow = await openRequest(svc, spa)
  t.equal(slow.session.state?.row?.user?.id, user.id)
  await save(slow, { note: 'while it lives' })
  t.match(await rowsOf(svc), [{ data: /"note":"while it lives"/, userId: BigInt(user.id) }])
  svc.clock.advance(2 * minute)
  await spa.get('/api/user')
  t.equal((await spa.post('/logout')).statusCode, 200)
  await save(slow, { note: 'too late' })
  await svc.app.touches.flush()
  t.strictSame(await rowsOf(svc), [])
  for (const url of ['/api/user', '/svc/csrf-cookie']) await svc.browser().get(url, { cookie: `svc_session=${thief}` })
  t.equal((await svc.browser().get('/api/user', { cookie: `svc_session=${thief}` })).statusCode, 401)
})

t.test('never adds a user to an anonymous session that was read without a row', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const spa = svc.browser()
  await spa.get('/svc/csrf-cookie')
  const slow = await openRequest(svc, spa)
  const userId = BigInt(user.id)
  Object.assign(slow.session, { user, userId: user.id, user_id: user.id, passwordFingerprint: 'x' })
  await slow.session.save()
  t.match(await rowsOf(svc), [{ userId: null, passwordFingerprint: null }])
  t.equal((await spa.get('/api/user')).statusCode, 401)
  const again = await openRequest(svc, spa)
  await spa.signIn(user.email)
  await save(again, { note: 'of the visit before' })
  t.match(await rowsOf(svc), [{ userId, data: /^\{"proof":\{[^{]*\}\}$/ }], 'the row it was read from is gone')
})

t.test('stores concurrent first requests of an anonymous session in one row', async (t) => {
  const svc = await buildTestApp(t)
  const spa = svc.browser()
  await spa.get('/svc/csrf-cookie')
  const requests = await Promise.all(Array.from({ length: 10 }, () => openRequest(svc, spa)))
  await Promise.all(requests.map((request, index) => save(request, { index })))
  const rows = await rowsOf(svc)
  t.equal(rows.length, 1)
  t.match(rows[0]?.data, /^\{"index":\d\}$/)
})

t.test('completes two concurrent logins from one browser, and ends the previous session', async (t) => {
  const svc = await buildTestApp(t)
  const [first, user] = [await svc.createUser(), await svc.createUser()]
  const spa = svc.browser()
  await spa.signIn(first.email)
  const before = await spa.cookie('svc_session')
  const body = { email: user.email, password: 'correct horse' }
  const answers = await Promise.all([spa.post('/login', body), spa.post('/login', body)])
  t.strictSame(
    answers.map((answer) => answer.statusCode),
    [200, 200],
  )
  t.equal((await spa.get('/api/user')).json().id, user.id)
  t.equal((await svc.browser().get('/api/user', { cookie: `svc_session=${before}` })).statusCode, 401)
  t.equal(await svc.database.prisma.session.count({ where: { userId: BigInt(first.id) } }), 0)
  const out = await Promise.all([spa.post('/logout'), spa.post('/logout')])
  t.ok(out.every((answer) => [200, 401].includes(answer.statusCode)))
  t.equal((await spa.get('/api/user')).statusCode, 401)
})

t.test('prunes ended sessions', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const spa = svc.browser()
  await spa.signIn(user.email, undefined, { remember: true })
  svc.clock.advance(401 * day)
  const { pruneAccess } = await import('../../../src/auth/access/prune.ts')
  await pruneAccess(svc.database, svc.config.current(), svc.clock.now())
  t.strictSame(await rowsOf(svc), [])
  t.equal(await svc.database.prisma.rememberToken.count(), 0)
})
