// engine: none
import t from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { hasRedis, startRedis } from '../../support/redis.ts'

const settings = { rate_limits: { global: '10/1h' } }

/** How many of this many concurrent requests, spread over the replicas, are allowed. */
async function letThrough(count: number, ...replicas: TestApp[]): Promise<number> {
  const asked = Array.from({ length: count }, (_, n) => replicas[n % replicas.length]?.app.inject('/health/live'))
  const answers = await Promise.all(asked)
  for (const answer of answers) {
    if (answer?.statusCode === 200) continue
    t.match(answer, { statusCode: 429, headers: { 'retry-after': /^\d+$/ } })
    t.match(answer?.json(), { code: 'too_many_requests' })
  }
  return answers.filter((answer) => answer?.statusCode === 200).length
}

t.test('counts each process separately without Redis', async (t) => {
  const here = await buildTestApp(t, { settings })
  const there = await buildTestApp(t, { settings, database: here.where })
  t.equal(await letThrough(30, here), 10)
  t.equal(await letThrough(30, there), 10)
})

t.test('counts all processes together with Redis, and each one separately while Redis is unavailable', async (t) => {
  if (!hasRedis(t)) return
  const redis = await startRedis(t)
  const shared = { ...settings, redis: { url: redis.url } }
  const here = await buildTestApp(t, { settings: shared })
  const there = await buildTestApp(t, { settings: shared, database: here.where })
  t.equal(await letThrough(30, here, there), 10)
  t.equal(await letThrough(10, there), 0)
  t.equal((await here.app.inject({ url: '/health/live', remoteAddress: '198.51.100.7' })).statusCode, 200)
  await redis.stop()
  t.equal(await letThrough(30, here), 10, 'each process counts separately')
  t.equal(await letThrough(30, there), 10)
})
