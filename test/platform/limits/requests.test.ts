import t from 'tap'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { minute } from '../../support/clock.ts'
import { hasRedis, startRedis } from '../../support/redis.ts'

const rate_limits = { register: '4/1m' }

/** Sends registrations to both replicas in turn. */
async function register(svc: TestApp, other: TestApp, times: number) {
  const spa = svc.browser()
  await spa.get('/svc/csrf-cookie')
  const headers = { cookie: await spa.jar.getCookieString('http://localhost:8000/'), origin: 'http://localhost:5173' }
  const xsrf = { 'x-xsrf-token': (await spa.cookie('XSRF-TOKEN')) ?? '' }
  const answers = Array.from({ length: times }, (_, n) =>
    (n % 2 ? other : svc).app.inject({
      method: 'POST',
      url: '/register',
      headers: { ...headers, ...xsrf },
      payload: {},
    }),
  )
  return Promise.all(answers)
}

async function checkSharing(t: Parameters<typeof buildTestApp>[0], settings: object): Promise<TestApp> {
  const svc = await buildTestApp(t, { settings: { ...settings, rate_limits } })
  const other = await buildTestApp(t, {
    settings: { ...settings, rate_limits },
    database: svc.where,
    clock: svc.clock,
  })
  const answers = await register(svc, other, 12)
  const statuses = answers.map(({ statusCode }) => statusCode)
  t.same(
    [422, 429].map((status) => statuses.filter((found) => found === status).length),
    [4, 8],
  )
  const remaining = answers.filter(({ statusCode }) => statusCode === 422).map(({ headers }) => headers)
  t.same(remaining.map((headers) => headers['x-ratelimit-remaining']).sort(), ['0', '1', '2', '3'])
  t.ok(remaining.every((headers) => headers['x-ratelimit-limit'] === '4' && !headers['x-ratelimit-reset']))
  svc.clock.advance(minute)
  t.equal((await register(other, svc, 1))[0]?.statusCode, 422, 'the next window')
  return svc
}

t.test('counts requests to a route on all replicas together, in the database', async (t) => {
  const svc = await checkSharing(t, {})
  t.equal(await svc.database.prisma.loginLimit.count(), 1)
})

t.test('counts requests to a route on all replicas together, in Redis', async (t) => {
  if (hasRedis(t)) {
    const redis = await startRedis(t)
    const svc = await checkSharing(t, { redis: { url: redis.url } })
    t.equal(await svc.database.prisma.loginLimit.count(), 0)
  }
})
