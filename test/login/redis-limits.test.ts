import t from 'tap'
import { FailureLimits, type LimitRule, type Limits } from '../../src/login/failure-limits.ts'
import { buildTestApp, type TestApp } from '../support/app.ts'
import { hour, minute, second } from '../support/clock.ts'
import { hasRedis, startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const token = (svc: TestApp, email: string, password: string) =>
  svc.bearer(null, 'POST', '/svc/token', { email, password, device_name: 'd' })

const rules: readonly LimitRule[] = [
  { max: 1, window: minute, block: 'window' },
  { max: 3, window: minute, block: 'window' },
  { max: 3, window: hour, block: 'growing' },
]

/** The results of a counter for the same history, step by step. */
async function history(limits: Limits, name: string, rule: LimitRule): Promise<unknown[]> {
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
    answers.push(await limits.reserve(name, rule, now), await limits.blockedUntil(name, now))
    if (index % 5 === 4) await limits.release(name)
    if (index === 12) await limits.clear(name)
  }
  return answers
}

t.test('decides in Redis as in the database', async (t) => {
  if (!hasRedis(t)) return
  const redis = await startRedis(t)
  const svc = await buildTestApp(t, { settings: { redis: { url: redis.url } } })
  const database = new FailureLimits(svc.database)
  for (const [index, rule] of rules.entries()) {
    t.strictSame(await history(svc.app.limits, `n${index}`, rule), await history(database, `n${index}`, rule))
  }
  t.equal(await svc.app.redis?.ttl('limit:x'), -2)
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
  await until(() => svc.app.redis?.status === 'ready')
  t.equal((await token(svc, email, 'correct horse')).statusCode, 200, 'it counts in Redis again')
})

t.test('starts while Redis is unavailable', async (t) => {
  const svc = await buildTestApp(t, { settings: { redis: { url: 'redis://127.0.0.1:1' } } })
  const { email } = await svc.createUser()
  t.equal((await token(svc, email, 'correct horse')).statusCode, 200)
  t.ok(svc.logs.some((line) => line.includes('Redis cannot be reached')))
})
