import t, { type Test } from 'tap'
import { recordEvent, systemOrigin } from '../../../src/identity/events.ts'
import { afterCommit, isInTransaction, withEffects } from '../../../src/platform/database/after-commit.ts'
import { openRedis } from '../../../src/platform/database/redis.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { Scrape } from '../../support/metrics.ts'
import { createTestDatabase, testEngine } from '../../support/postgresql.ts'
import { freePort } from '../../support/process.ts'
import { openProxy } from '../../support/proxy.ts'
import { hasRedis, startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

/** Makes each COMMIT after a new event fail. */
async function refuseCommits(t: Test, { database: { prisma } }: TestApp): Promise<void> {
  if (testEngine === 'sqlite') {
    // A row without its parent, which SQLite notices at COMMIT.
    await prisma.$executeRawUnsafe(
      'CREATE TABLE broken (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES broken_parent (id) DEFERRABLE INITIALLY DEFERRED)',
    )
    await prisma.$executeRawUnsafe('CREATE TABLE broken_parent (id INTEGER PRIMARY KEY)')
    await prisma.$executeRawUnsafe(
      'CREATE TRIGGER refuse AFTER INSERT ON events BEGIN INSERT INTO broken (parent) VALUES (1); END',
    )
    return
  }
  await prisma.$executeRawUnsafe(
    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no space'; END $$",
  )
  // Later tests use the same database.
  t.teardown(() => prisma.$executeRawUnsafe('DROP FUNCTION refuse CASCADE'))
  await prisma.$executeRawUnsafe(
    'CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()',
  )
}

const events = ({ logs }: TestApp) => logs.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'security event')

const build = async (t: Test, settings: object = {}) => {
  const port = await freePort()
  const svc = await buildTestApp(t, {
    settings: { metrics: { port }, server: { host: '127.0.0.1' }, rate_limits: { mail: null }, ...settings },
  })
  const counted = async (event: string) => (await Scrape.of(port)).value('svc_security_events_total', { event }) ?? 0
  return { svc, counted }
}

t.test('a COMMIT that fails leaves no event in the log and in the metrics', async (t) => {
  const { svc, counted } = await build(t)
  const user = await svc.createUser()
  const token = await svc.createToken(user)
  await refuseCommits(t, svc)
  const before = await svc.database.prisma.event.count()
  svc.logs.length = 0
  const made = await svc.bearer(token, 'POST', '/api/tokens/create', { token_name: 'lost' })
  t.ok(made.statusCode >= 500, made.body)
  const ended = await svc.bearer(token, 'POST', '/logout', {})
  t.ok(ended.statusCode >= 500, ended.body)
  t.strictSame(events(svc), [], 'nothing was created or revoked')
  t.equal(await counted('token_created'), 0)
  t.equal(await counted('token_revoked'), 0)
  t.equal(await svc.database.prisma.event.count(), before)
  t.equal((await svc.bearer(token, 'GET', '/api/user')).statusCode, 200, 'the token still works')
})

t.test('a transaction that is repeated logs and counts its last attempt only', async (t) => {
  const { svc, counted } = await build(t)
  const { id } = await svc.createUser()
  svc.logs.length = 0
  let attempts = 0
  await svc.database.transaction(async (tx) => {
    const origin = { ...systemOrigin({ now: svc.clock.now(), subscriber: svc.app.subscriber }), log: svc.app.log }
    await recordEvent(tx, { ...origin, metrics: svc.app.metrics }, { type: 'user_updated', userId: id })
    t.strictSame(events(svc), [], 'nothing before the COMMIT')
    if (++attempts < 3) throw Object.assign(new Error('could not serialize access'), { code: '40001' })
  })
  t.equal(attempts, 3)
  t.match(events(svc), [{ event: 'user_updated', outcome: 'success' }])
  t.equal(events(svc).length, 1)
  t.equal(await counted('user_updated'), 1)
})

t.test('what a transaction leaves behind logs at once after its end', async (t) => {
  const { svc } = await build(t)
  const ended = Promise.withResolvers<void>()
  let later: Promise<void> | undefined
  await svc.database.transaction(async () => {
    svc.app.log.info('inside')
    svc.app.log.warn('a warning')
    t.ok(isInTransaction())
    t.notMatch(svc.logs.join(), /"inside"/)
    t.match(svc.logs.join(), /a warning/, 'warnings describe the process')
    later = ended.promise.then(() => svc.app.log.info('after'))
  })
  t.match(svc.logs.join(), /"inside"/)
  ended.resolve()
  await later
  t.match(svc.logs.join(), /"after"/)
})

t.test('an ending without an answer is unknown, and an error of the database is a rollback', async (t) => {
  const endingOf = async (error: unknown, isDone = true) => {
    const endings: string[] = []
    const attempt = withEffects<void>(async (within) => {
      await within(async () => {
        afterCommit((ending) => void endings.push(ending))
        if (!isDone) throw error
      })
      throw error
    })
    await t.rejects(attempt)
    return endings
  }
  const coded = (code: string) => Object.assign(new Error('failed'), { code })
  for (const code of ['ECONNRESET', 'EPIPE', 'P1017', '57P01', '08006'])
    t.strictSame(await endingOf(coded(code)), ['unknown'], code)
  for (const code of ['40001', '23503', '53100', 'P2034']) t.strictSame(await endingOf(coded(code)), [], code)
  t.strictSame(await endingOf(new Error('Connection terminated unexpectedly')), ['unknown'])
  t.strictSame(await endingOf(coded('ECONNRESET'), false), [], 'before the COMMIT')
})

if (testEngine === 'postgresql') {
  t.test('a COMMIT whose answer is lost is logged with an unknown outcome', async (t) => {
    const place = await createTestDatabase()
    t.teardown(place.drop)
    const proxy = await openProxy(t, new URL(place.url))
    const svc = await buildTestApp(t, { database: { ...place, url: proxy.url } })
    const user = await svc.createUser()
    const token = await svc.createToken(user)
    svc.logs.length = 0
    proxy.cutAfter('COMMIT')
    const ended = await svc.bearer(token, 'DELETE', '/api/tokens/current')
    proxy.cutAfter(null)
    t.equal(ended.statusCode, 503, ended.body)
    t.match(events(svc), [{ event: 'token_revoked', outcome: 'unknown' }])
    await until(async () => (await svc.bearer(token, 'GET', '/api/user')).statusCode === 401)
  })
}

t.test('code in a transaction cannot use Redis, so its counters are in the database', async (t) => {
  if (!hasRedis(t)) return
  const { url } = await startRedis(t)
  const { svc } = await build(t, { redis: { url } })
  const redis = await openRedis(svc.config, svc.app.dependencies)
  t.teardown(() => redis?.disconnect())
  const rule = { max: 1, window: 60_000, block: 'window' } as const
  const hits = await svc.database.transaction(async (tx) => {
    await t.rejects(async () => redis?.get('x'), /must not be used inside a transaction/)
    const counters = svc.app.counters.within(tx)
    return [
      await counters.hit('inside', rule, svc.clock.now()),
      await counters.hit('inside', rule, svc.clock.now()),
    ].map(({ allowed }) => allowed)
  })
  t.strictSame(hits, [true, false])
  t.strictSame(await redis?.keys('svc:limit:*'), [])
  t.equal(await redis?.set('x', '1'), 'OK')
})
