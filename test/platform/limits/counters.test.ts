import t, { type Test } from 'tap'
import { type Counters, hitInTurn, type LimitRule, takeBack } from '../../../src/platform/limits/counters.ts'
import { DatabaseCounters } from '../../../src/platform/limits/database-counters.ts'
import { MemoryCounters } from '../../../src/platform/limits/memory-counters.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { hour, minute, second } from '../../support/clock.ts'
import { hasRedis, startRedis } from '../../support/redis.ts'
import { until } from '../../support/until.ts'

const token = (svc: TestApp, email: string, password: string) =>
  svc.bearer(null, 'POST', '/svc/token', { email, password, device_name: 'd' })

const rules: readonly LimitRule[] = [
  { max: 1, window: minute, block: 'window' },
  { max: 3, window: minute, block: 'window' },
  { max: 3, window: hour, block: 'growing' },
]

/** The results of a counter for the same history, step by step. */
async function history(counters: Counters, name: string, rule: LimitRule): Promise<unknown[]> {
  const answers: unknown[] = []
  let now = 1_800_000_000_000
  const steps = [
    0,
    1,
    1,
    1,
    20 * second,
    15 * second,
    70 * second,
    1,
    1,
    1,
    40 * second,
    minute,
    2 * minute,
    4 * minute,
  ]
  for (const [index, step] of [...steps, 10 * minute, hour, hour, 2 * hour, 1].entries()) {
    now += step
    answers.push(await counters.hit(name, rule, now), await counters.blockedUntil(name, rule, now))
    if (index % 5 === 4) await counters.undo(name)
    if (index === 12) await counters.reset(name)
  }
  return answers
}

/** svc with a Redis of its own. */
async function withRedis(t: Test): Promise<TestApp> {
  const redis = await startRedis(t)
  return buildTestApp(t, { settings: { redis: { url: redis.url } } })
}

t.test('decides the same in the database, in memory and in Redis', async (t) => {
  const svc = await buildTestApp(t)
  const database = new DatabaseCounters(svc.database)
  const memory = new MemoryCounters()
  const redis = hasRedis(t) ? (await withRedis(t)).app.counters : null
  for (const [index, rule] of rules.entries()) {
    const expected = await history(database, `n${index}`, rule)
    t.strictSame(await history(memory, `n${index}`, rule), expected)
    if (redis) t.strictSame(await history(redis, `n${index}`, rule), expected)
  }
})

/** Results and counters after several hits at a time. Some hits are rejected or taken back. */
async function togetherHistory(counters: Counters): Promise<unknown[]> {
  const [now, names] = [1_800_000_000_000, ['x', 'y', 'z']]
  const hits = names
    .map((name, i) => ({ name, rule: rules[(i + 1) % rules.length] ?? rules[0] }))
    .flatMap((hit) => (hit.rule ? [{ name: hit.name, rule: hit.rule }] : []))
  const answers: unknown[] = []
  for (let n = 0; n < 6; n++) {
    answers.push(await hitInTurn(counters, n % 2 ? hits.toReversed() : hits, now + n))
    if (n === 1)
      await takeBack(counters, [
        { name: 'x', change: 'undo' },
        { name: 'z', change: 'reset' },
        { name: 'y', change: 'undo' },
      ])
    if (n === 3) await takeBack(counters, [{ name: 'y', change: 'undo' }])
  }
  answers.push(await hitInTurn(counters, [], now))
  await takeBack(counters, [])
  for (const { name, rule } of hits) answers.push(await counters.hit(name, { ...rule, max: 99 }, now + 9))
  return answers
}

t.test('counts several hits in turn, up to the first that is rejected', async (t) => {
  const svc = await buildTestApp(t)
  const expected = await togetherHistory(new MemoryCounters())
  t.strictSame(await togetherHistory(new DatabaseCounters(svc.database)), expected)
  await svc.database.prisma.loginLimit.deleteMany()
  const inTransaction = svc.database.transaction((tx) => togetherHistory(new DatabaseCounters(svc.database).within(tx)))
  t.strictSame(await inTransaction, expected)
  t.notSame(
    expected.slice(0, 6).map((hits) => (hits as unknown[]).length),
    [3, 3, 3, 3, 3, 3],
    'some are rejected',
  )
})

t.test('takes hits back while others count, without losing one', async (t) => {
  const svc = await buildTestApp(t)
  const counters = new DatabaseCounters(svc.database)
  const rule: LimitRule = { max: 1_000, window: hour, block: 'window' }
  const names = ['wide', 'here', 'everywhere']
  const attempt = async () => {
    await hitInTurn(
      counters,
      names.map((name) => ({ name, rule })),
      0,
    )
    await takeBack(
      counters,
      names.map((name) => ({ name, change: 'undo' })),
    )
  }
  await Promise.all(Array.from({ length: 60 }, attempt))
  t.same(await svc.database.prisma.loginLimit.findMany({ where: { failures: { not: 0 } } }), [])
})

t.test('applies a raised maximum during a window, and a lowered one from the next hit', async (t) => {
  const svc = await buildTestApp(t)
  const all = [svc.app.counters, new MemoryCounters(), ...(hasRedis(t) ? [(await withRedis(t)).app.counters] : [])]
  const [now, resetsAt] = [1_800_000_000_000, 1_800_000_060_000]
  const of = (max: number, block: LimitRule['block'] = 'window'): LimitRule => ({ max, window: minute, block })
  for (const counters of all) {
    for (let count = 1; count <= 2; count++)
      t.strictSame(await counters.hit('a', of(2), now), { allowed: true, count, resetsAt })
    t.strictSame(await counters.hit('a', of(2), now), { allowed: false, until: resetsAt })
    t.equal(await counters.blockedUntil('a', of(2), now), resetsAt)
    t.equal(await counters.blockedUntil('a', of(4), now), null)
    t.strictSame(await counters.hit('a', of(4), now), { allowed: true, count: 3, resetsAt })
    t.strictSame(await counters.hit('a', of(1), now), { allowed: true, count: 4, resetsAt })
    t.strictSame(await counters.hit('a', of(1), now), { allowed: false, until: resetsAt })
    for (let n = 0; n < 2; n++) await counters.hit('b', of(2, 'growing'), now)
    t.strictSame(await counters.hit('b', of(9, 'growing'), now), { allowed: false, until: now + 30 * second })
    t.match(await counters.hit('c', of(9_999_999_990), now), { allowed: true }, 'a maximum of any size')
    t.match(await counters.hit('c', of(9_999_999_990), now), { allowed: true })
  }
})

t.test('drops the oldest counters from memory', async (t) => {
  const counters = new MemoryCounters()
  const rule: LimitRule = { max: 1, window: minute, block: 'window' }
  for (let n = 0; n <= 10_000; n++) await counters.hit(`n${n}`, rule, 0)
  t.equal(await counters.blockedUntil('n0', rule, 0), null)
  t.equal(await counters.blockedUntil('n1', rule, 0), minute)
})

t.test(
  'counts together in Redis across replicas, and checks no more than the allowed number of concurrent guesses',
  async (t) => {
    if (!hasRedis(t)) return
    const redis = await startRedis(t)
    const settings = { redis: { url: redis.url } }
    const svc = await buildTestApp(t, { settings })
    const other = await buildTestApp(t, { settings, database: svc.where, clock: svc.clock })
    const { email } = await svc.createUser()
    const guesses = Array.from({ length: 12 }, (_, i) => token(i % 2 ? svc : other, email, 'wrong'))
    const statuses = (await Promise.all(guesses)).map((answer) => answer.statusCode)
    t.equal(statuses.filter((status) => status === 422).length, 5)
    t.equal(statuses.filter((status) => status === 429).length, 7)
    t.equal(await svc.database.prisma.loginLimit.count(), 0, 'the database has no counters')
    svc.clock.advance(minute)
    t.equal((await token(other, email, 'correct horse')).statusCode, 200)
  },
)

t.test('counts in the database while Redis is away, so attempts stay limited', async (t) => {
  if (!hasRedis(t)) return
  const redis = await startRedis(t)
  const svc = await buildTestApp(t, { settings: { redis: { url: redis.url } } })
  const { email } = await svc.createUser()
  await redis.stop()
  for (let i = 0; i < 5; i++) t.equal((await token(svc, email, 'wrong')).statusCode, 422)
  t.equal((await token(svc, email, 'correct horse')).statusCode, 429)
  await redis.start()
  await until(async () => (await svc.app.redis?.ping().catch(() => '')) === 'PONG')
  t.equal((await token(svc, email, 'correct horse')).statusCode, 200, 'it counts in Redis again')
})

t.test('starts while Redis is unavailable', async (t) => {
  const svc = await buildTestApp(t, { settings: { redis: { url: 'redis://127.0.0.1:1' } } })
  const { email } = await svc.createUser()
  t.equal((await token(svc, email, 'correct horse')).statusCode, 200)
  t.ok(svc.logs.some((line) => line.includes('redis does not work')))
})
