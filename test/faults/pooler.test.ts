// engine: postgresql
// SVC_TEST_PGBOUNCER names another PgBouncer than the installed one, such as a newer one.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { hasPgbouncer, keepsStatements, type Pooler, startPgbouncer } from '../support/pgbouncer.ts'
import { createTestDatabase } from '../support/postgresql.ts'
import { startMain, temporaryDirectory } from '../support/process.ts'
import { sendRequest } from '../support/remote.ts'
import { until } from '../support/until.ts'
import { createWriters, Writers } from './writers.ts'

/** Versions before 1.21 keep no prepared statements. Then svc does without them. */
const keeps = keepsStatements()

/** Two processes behind a pooler. The first one migrates the database. */
async function start(t: Test, { url }: Pooler) {
  const cwd = temporaryDirectory(t)
  writeFileSync(join(cwd, 'svc.yaml'), `database: { prepared_statements: ${keeps} }\n`)
  const secret = 'the-secret-of-the-tests-is-32-bytes-long'
  const env = { DATABASE_URL: url, SVC_SECRET: secret, SVC_CONFIG: 'svc.yaml' }
  const first = await startMain(t, { env, cwd })
  await createWriters(url)
  const second = await startMain(t, { env, cwd })
  const all = [first, second]
  return { all, writers: await Promise.all(all.map(({ url }) => Writers.signIn(url))) }
}

t.test('loses no write while a pooler restarts and reconnects', async (t) => {
  if (!hasPgbouncer(t)) return
  const direct = await createTestDatabase({ bare: true })
  t.teardown(direct.drop)
  const pooler = await startPgbouncer(t, direct.url, { size: 4, statements: 200 })
  const { all, writers } = await start(t, pooler)
  const workOn = async () => {
    const before = writers.map(({ acknowledged }) => acknowledged)
    await until(() => writers.every(({ acknowledged }, at) => acknowledged > (before[at] ?? 0) + 50))
  }
  for (const each of writers) each.start(6)
  await workOn()
  for (const commands of [['RECONNECT'], ['RELOAD'], ['PAUSE', 'RESUME'], ['RECONNECT', 'RELOAD']]) {
    for (const each of commands) await pooler.command(each)
    await workOn()
  }
  t.same([...new Set(writers.flatMap(({ statuses }) => [...statuses.keys()]))], [200], 'commands fail no request')
  for (const _restart of [1, 2, 3]) {
    await pooler.stop()
    await pooler.start()
    await workOn()
  }
  for (const each of writers) {
    await each.stop()
    await each.check(t)
    t.same(each.flaws.slice(0, 3), [], 'every other answer is a 503 with Retry-After')
    t.equal(each.unanswered, 0)
  }
  t.comment(JSON.stringify(writers.map(({ statuses }) => [...statuses])))
  for (const svc of all) {
    t.equal((await sendRequest(svc.url, { url: '/health/ready' })).statusCode, 200)
    t.notMatch(svc.stdout(), /"level":"(error|fatal)"|prepared statement/, 'no statement is missing')
  }
})
