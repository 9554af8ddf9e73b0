import t from 'tap'
import { pruneAccess } from '../../../src/auth/access/prune.ts'
import { buildTestApp } from '../../support/app.ts'
import { day, hour } from '../../support/clock.ts'
import { untilWaiting } from '../../support/hold.ts'

t.test('prunes expired rows in batches, and keeps the others', async (t) => {
  const svc = await buildTestApp(t)
  const { prisma } = svc.database
  const user = await svc.createUser()
  const began = new Date(svc.clock.now())
  const events = Array.from({ length: 1_200 }, () => ({ type: 'login', createdAt: began }))
  await prisma.event.createMany({ data: events })
  await svc.browser().signIn(user.email, undefined, { remember: true })
  await svc.bearer(null, 'POST', '/svc/token', { email: user.email, password: 'wrong', device_name: 'x' })
  const counts = async () => [
    await prisma.session.count(),
    await prisma.rememberToken.count(),
    await prisma.loginLimit.count(),
    (await prisma.event.count()) >= 1_200,
  ]
  const prune = async () => {
    await pruneAccess(svc.database, svc.config.current(), svc.clock.now())
    await svc.app.sealer.retain(svc.clock.now() - 400 * day)
  }
  await prune()
  t.strictSame(await counts(), [1, 1, 3, true], 'account, address and both together')
  svc.clock.advance(2 * hour + 1)
  await prune()
  t.strictSame(await counts(), [0, 1, 0, true], 'the idle session and the ended windows')
  svc.clock.advance(400 * day)
  await svc.browser().signIn(user.email)
  await prune()
  t.strictSame(await counts(), [1, 0, 0, false])
  t.equal(await prisma.event.count(), 1, 'the newest event is kept')
})

t.test('keeps a session that is used while it is pruned', async (t) => {
  const svc = await buildTestApp(t)
  const { pg, prisma } = svc.database
  if (!pg) return void t.pass('SQLite runs one writing transaction at a time')
  const user = await svc.createUser()
  await svc.browser().signIn(user.email)
  svc.clock.advance(2 * hour + 1)
  const prune = () => pruneAccess(svc.database, svc.config.current(), svc.clock.now())
  const use = await pg.connect()
  try {
    await use.query('BEGIN')
    await use.query('UPDATE sessions SET last_seen_at = $1', [new Date(svc.clock.now())])
    const pruned = prune()
    await untilWaiting(svc, pruned)
    await use.query('COMMIT')
    await pruned
  } finally {
    use.release()
  }
  t.equal(await prisma.session.count(), 1)
})
