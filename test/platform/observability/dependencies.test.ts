// engine: none
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { hookSettings, startReceiver } from '../../features/webhooks/receiver.ts'
import { buildTestApp, type Settings, type TestApp } from '../../support/app.ts'
import { Scrape } from '../../support/metrics.ts'
import { freePort } from '../../support/process.ts'
import { hasRedis, startRedis } from '../../support/redis.ts'
import { SmtpReceiver } from '../../support/smtp.ts'
import { until } from '../../support/until.ts'

/** svc with metrics, and what it says about one dependency. */
async function watched(t: Test, dependency: string, settings: Settings) {
  const port = await freePort()
  const svc = await buildTestApp(t, { settings: { metrics: { port }, server: { host: '127.0.0.1' }, ...settings } })
  const said = () =>
    svc.logs
      .map((line) => JSON.parse(line))
      .filter((line) => line.dependency === dependency)
      .map(({ level, msg }) => `${level} ${msg}`)
  const isUp = async () => (await Scrape.of(port)).value('svc_dependency_up', { dependency })
  return { ...svc, said, isUp }
}

const deviceLogin = (svc: TestApp, email: string, password: string) =>
  svc.bearer(null, 'POST', '/svc/token', { email, password, device_name: 'Phone' })

t.test('says once that the mail server does not work, and once that it works again', async (t) => {
  const port = await freePort()
  const svc = await watched(t, 'mail', { mail: { url: `smtp://127.0.0.1:${port}` } })
  const ask = async (email: string) => {
    const browser = svc.browser()
    await browser.get('/svc/csrf-cookie')
    return browser.post('/forgot-password', { email })
  }
  for (let mails = 0; mails < 3; mails++) {
    const { email } = await svc.createUser()
    t.equal((await ask(email)).statusCode, 200)
  }
  await svc.app.outbox.deliverDue()
  t.match(svc.said(), [/^warn mail does not work: connect ECONNREFUSED 127\.0\.0\.1:\d+$/])
  t.equal(svc.said().length, 1)
  t.equal(await svc.isUp(), 0)

  const server = await SmtpReceiver.start({ port })
  t.teardown(() => server.close())
  svc.clock.advance(60_000)
  await svc.app.outbox.deliverDue()
  t.equal(server.mails.length, 3)
  t.match(svc.said()[1], /^info mail works again after \d+ s$/)
  t.equal(svc.said().length, 2)
  t.equal(await svc.isUp(), 1)
})

t.test('says which webhook receiver does not work', async (t) => {
  const [works, fails] = [await startReceiver(t), await startReceiver(t)]
  const name = `webhook:${new URL(fails.url).host}`
  const svc = await watched(t, name, hookSettings({ url: works.url }, { url: fails.url }))
  fails.status = 500
  const { email } = await svc.createUser()
  for (let times = 0; times < 2; times++) t.equal((await deviceLogin(svc, email, 'correct horse')).statusCode, 200)
  await svc.app.outbox.deliverDue()
  t.strictSame(svc.said(), [`warn ${name} does not work: The receiver answered 500.`])
  t.equal(await svc.isUp(), 0)
  t.equal(svc.logs.filter((line) => line.includes(`webhook:${new URL(works.url).host} does`)).length, 0)
  fails.status = 204
  svc.clock.advance(60_000)
  await svc.app.outbox.deliverDue()
  t.match(svc.said()[1], /^info webhook:.* works again after/)
  t.equal(await svc.isUp(), 1)
})

t.test('shares the first timeout of a Redis that hangs, and refuses later commands at once', async (t) => {
  if (!hasRedis(t)) return
  const server = await startRedis(t)
  const svc = await watched(t, 'redis', { redis: { url: server.url, timeout: '1s' } })
  const { redis } = svc.app
  if (!redis) throw new Error('There is no Redis.')
  const { email } = await svc.createUser()
  server.freeze()
  const reasons = await Promise.all(Array.from({ length: 10 }, () => redis.get('x').catch((error) => error.message)))
  t.same([...new Set(reasons)].sort(), ['Command timed out', 'Redis does not work: Command timed out'])
  let isOneTurn = true
  const turn = setImmediate(() => {
    isOneTurn = false
  })
  await t.rejects(redis.get('x'), { message: /^Redis does not work/ })
  t.ok(isOneTurn, 'without waiting')
  clearImmediate(turn)
  for (let guess = 0; guess < 5; guess++) t.equal((await deviceLogin(svc, email, 'wrong')).statusCode, 422)
  t.equal((await deviceLogin(svc, email, 'wrong')).statusCode, 429, 'the database counts')
  t.strictSame(svc.said(), ['warn redis does not work: Command timed out'])
  t.equal(await svc.isUp(), 0)

  server.thaw()
  await until(() => svc.said().length === 2)
  t.match(svc.said()[1], /^info redis works again after \d+ s$/)
  t.equal(await redis.get('x'), null)
  t.equal(await svc.isUp(), 1)
})

t.test('counts in the database while Redis refuses writes, and repeats what Redis says', async (t) => {
  if (!hasRedis(t)) return
  const server = await startRedis(t)
  const svc = await watched(t, 'redis', { redis: { url: server.url } })
  const admin = new Redis(server.url)
  t.teardown(() => admin.disconnect())
  const { email } = await svc.createUser()
  const refusals: [string, () => Promise<unknown>, () => Promise<unknown>][] = [
    ['OOM', () => admin.config('SET', 'maxmemory', '1'), () => admin.config('SET', 'maxmemory', '0')],
    [
      'READONLY|MASTERDOWN',
      async () => {
        await admin.replicaof('127.0.0.1', 1)
        await admin.config('SET', 'replica-serve-stale-data', 'no')
      },
      () => admin.call('REPLICAOF', 'NO', 'ONE'),
    ],
  ]
  for (const [code, begin, end] of refusals) {
    await begin()
    const said = svc.said().length
    t.equal((await deviceLogin(svc, email, 'wrong')).statusCode, 422, code)
    await until(() => svc.said().length === said + 1)
    t.match(svc.said()[said], new RegExp(`^warn redis does not work: (${code}) `))
    t.equal((await deviceLogin(svc, email, 'correct horse')).statusCode, 200, code)
    await end()
    await until(() => svc.said().length === said + 2)
    t.match(svc.said()[said + 1], /^info redis works again/)
  }
})
