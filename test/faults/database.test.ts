// engine: postgresql
import t, { type Test } from 'tap'
import { startPostgresql } from '../support/postgresql-server.ts'
import { type Running, startMain } from '../support/process.ts'
import { openProxy } from '../support/proxy.ts'
import { sendRequest } from '../support/remote.ts'
import { pass, until } from '../support/until.ts'
import { createWriters, isLongRun, Writers } from './writers.ts'

/** Minimum duration of each outage, in milliseconds. */
const outage = isLongRun ? 10_000 : 1_000

const statusOf = async ({ url }: Running, path: string) => (await sendRequest(url, { url: path })).statusCode

/** svc on this database, under load. */
async function start(t: Test, databaseUrl: string) {
  const env = {
    DATABASE_URL: databaseUrl,
    SVC_SECRET: 'the-secret-of-the-tests-is-32-bytes-long',
  }
  const svc = await startMain(t, { env })
  await createWriters(databaseUrl)
  const writers = await Writers.signIn(svc.url)
  writers.start(8)
  await until(() => writers.acknowledged > 50)
  return { svc, writers }
}

/** Conditions after each outage: svc works again without a restart, and logged no internal error. */
async function recovers(t: Test, svc: Running, writers: Writers): Promise<void> {
  await until(async () => (await statusOf(svc, '/health/ready')) === 200)
  const before = writers.acknowledged
  await until(() => writers.acknowledged > before + 50)
  await writers.stop()
  await writers.check(t)
  t.same(writers.flaws.slice(0, 3), [], 'every other answer is a 503 with Retry-After')
  t.ok(writers.statuses.get(503), `${JSON.stringify([...writers.statuses])}`)
  t.equal(writers.unanswered, 0)
  t.notMatch(svc.stdout(), /"level":"(error|fatal)"/, 'an outage causes no internal error')
  t.equal(svc.child.exitCode, null)
}

t.test('recovers when the database stops and starts', async (t) => {
  const server = await startPostgresql()
  t.teardown(server.stop)
  const { svc, writers } = await start(t, server.url)
  await server.halt()
  await until(() => (writers.statuses.get(503) ?? 0) > 0)
  t.equal(await statusOf(svc, '/health/ready'), 503)
  t.equal(await statusOf(svc, '/health/live'), 200)
  await pass(outage)
  await server.restart()
  await recovers(t, svc, writers)
})

t.test('recovers from a database that hangs', async (t) => {
  const server = await startPostgresql()
  t.teardown(server.stop)
  const { svc, writers } = await start(t, server.url)
  server.freeze()
  t.equal(await statusOf(svc, '/health/ready'), 503)
  t.equal(await statusOf(svc, '/health/live'), 200)
  // Until the pending work is given up.
  await until(() => (writers.statuses.get(503) ?? 0) >= 8)
  await pass(outage)
  server.thaw()
  await recovers(t, svc, writers)
})

t.test('works with a slow database', async (t) => {
  const server = await startPostgresql()
  t.teardown(server.stop)
  const proxy = await openProxy(t, new URL(server.url))
  const { svc, writers } = await start(t, proxy.url)
  const crowd = await Writers.signIn(svc.url)
  proxy.slowDown(1_500)
  crowd.start(100)
  await until(() => (crowd.statuses.get(503) ?? 0) >= 30)
  t.equal(await statusOf(svc, '/health/live'), 200, 'requests succeed')
  await pass(outage)
  proxy.slowDown(0)
  await crowd.stop()
  await crowd.check(t)
  t.same(crowd.flaws.slice(0, 3), [])
  t.equal(crowd.unanswered, 0, 'every request is answered')
  writers.statuses.set(503, writers.statuses.get(503) ?? 1)
  await recovers(t, svc, writers)
})
