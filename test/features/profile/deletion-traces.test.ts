import t from 'tap'
import { buildTestApp } from '../../support/app.ts'
import { untilWaiting } from '../../support/hold.ts'
import { beforeNextTransaction } from '../../support/meanwhile.ts'
import { oauthSettings, Person, request } from '../../support/oauth.ts'
import { stopTime } from '../../support/time.ts'
import { until } from '../../support/until.ts'

t.test('removes every address, browser, name and mail of a deleted account', async (t) => {
  const svc = await buildTestApp(t, { settings: oauthSettings, clock: stopTime(t) })
  const [ada, bob] = [await svc.createUser({ email: 'ada@example.com' }), await svc.createUser()]
  const agent = { 'user-agent': 'Adas browser' }
  const { prisma } = svc.database
  const sessions = []
  for (const { email } of [ada, bob]) {
    const spa = svc.browser({ origin: 'http://localhost:8000' })
    const person = new Person(spa, email)
    const headers = { ...agent }
    await spa.get('/svc/csrf-cookie')
    t.equal((await spa.post('/login', { email, password: 'correct horse' }, headers)).statusCode, 200)
    await spa.post('/api/tokens/create', { token_name: `Laptop of ${email}` }, headers)
    await spa.post('/oauth/personal-access-tokens', { name: `Script of ${email}` }, headers)
    await spa.post('/user/confirm-password', { password: 'correct horse' }, headers)
    t.equal((await spa.get('/user/passkeys/options', headers)).statusCode, 200)
    t.equal((await person.authorize(request('web'))).page, 'Authorize', 'an authorization is pending')
    sessions.push({ spa, headers })
  }
  await svc.mailbox.all()
  const givenUp = { kind: 'mail', payload: 'x', failedAt: new Date(), availableAt: new Date(), createdAt: new Date() }
  for (const { id } of [ada, bob]) await prisma.outbox.create({ data: { ...givenUp, userId: BigInt(id) } })
  const owner = { userId: BigInt(ada.id) }
  t.equal(await prisma.oauthRecord.count({ where: { ...owner, kind: 'Interaction' } }), 1)
  t.ok((await prisma.event.count({ where: { ...owner, userAgent: agent['user-agent'] } })) > 0)
  const before = await prisma.event.findMany({ where: { userId: BigInt(bob.id) } })

  const [mine] = sessions
  const answer = await mine?.spa.delete('/user', undefined, mine.headers)
  t.equal(answer?.statusCode, 200)
  const events = await prisma.event.findMany({ where: owner })
  t.ok(
    events.some(({ type }) => type === 'login'),
    'the events are kept',
  )
  t.ok(events.some(({ type }) => type === 'user_deleted'))
  for (const { type, ipAddress, userAgent, data } of events) {
    t.equal(ipAddress, null, type)
    t.equal(userAgent, null, type)
    t.notMatch(data, /\bada\b|Laptop|Script/i, type)
  }
  t.equal(await prisma.oauthRecord.count({ where: owner }), 0)
  t.equal(await prisma.passkeyChallenge.count({ where: owner }), 0)
  const waiting = await prisma.outbox.findMany({ where: owner })
  t.ok(
    waiting.length <= 1 && waiting.every(({ failedAt }) => failedAt === null),
    'only the notice of the deletion is pending',
  )
  t.ok((await svc.mailbox.to(ada.email)).some(({ subject }) => subject === 'Your account was deleted'))
  t.equal(await prisma.outbox.count({ where: owner }), 0, 'and it is deleted once it is sent')

  const theirs = { userId: BigInt(bob.id) }
  t.strictSame(await prisma.event.findMany({ where: theirs }), before, "other users' events are unchanged")
  t.equal(await prisma.oauthRecord.count({ where: { ...theirs, kind: 'Interaction' } }), 1)
  t.equal(await prisma.passkeyChallenge.count({ where: theirs }), 1)
  t.equal(await prisma.outbox.count({ where: theirs }), 1)
})

t.test('records a failed sign-in after the deletion without the address', async (t) => {
  const svc = await buildTestApp(t)
  const user = await svc.createUser()
  const { prisma } = svc.database
  const userId = BigInt(user.id)
  beforeNextTransaction(svc, () => prisma.user.delete({ where: { id: userId } }))
  await svc.browser().signIn(user.email, 'wrong')
  await until(async () => (await prisma.event.count({ where: { userId } })) > 0)
  const [event] = await prisma.event.findMany({ where: { userId } })
  t.match(event, { type: 'login_failed', ipAddress: null, userAgent: null })
})

t.test('records a failed sign-in during the deletion without the address', async (t) => {
  const svc = await buildTestApp(t)
  if (svc.database.engine === 'sqlite') return t.pass('SQLite runs one transaction at a time')
  const user = await svc.createUser()
  const { prisma } = svc.database
  const userId = BigInt(user.id)
  const recorded = async () => (await prisma.event.count({ where: { userId } })) > 0
  // Awaited below, so that it asks nothing of a closed database.
  const isRecorded = until(recorded)
  await svc.database.transaction(async (tx) => {
    await tx.user.update({ where: { id: userId }, data: { name: 'On the way out' } })
    await svc.browser().signIn(user.email, 'wrong')
    await untilWaiting(svc, isRecorded)
    await tx.user.delete({ where: { id: userId } })
  })
  await isRecorded
  const [event] = await prisma.event.findMany({ where: { userId } })
  t.match(event, { type: 'login_failed', ipAddress: null, userAgent: null })
})
