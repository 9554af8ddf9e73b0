// engine: postgresql
// SVC_TEST_PGBOUNCER names another PgBouncer than that of the machine, such as a newer one.
import t, { type Test } from 'tap'
import { openDatabase } from '../../src/database/database.ts'
import { PoolerError } from '../../src/database/pooler.ts'
import { keepsStatements, type Pooler, startPgbouncer } from '../support/pgbouncer.ts'
import { createTestDatabase } from '../support/postgresql.ts'
import { runCli, startMain } from '../support/process.ts'
import { sendRequest } from '../support/remote.ts'
import { until } from '../support/until.ts'
import { Writers, writer } from './writers.ts'

/** Two processes with prepared statements behind a pooler. The first one migrates the database. */
async function start(t: Test, { url }: Pooler) {
  const env = { DATABASE_URL: url, SVC_SECRET: 'the-secret-of-the-tests-is-32-bytes-long' }
  const first = await startMain(t, { env })
  const create = ['user:create', `--email=${writer.email}`, '--name=Ada', '--verified']
  const made = await runCli(create, { cwd: first.cwd, env, input: `${writer.password}\n` })
  if (made.code !== 0) throw new Error(made.stderr)
  const second = await startMain(t, { env, cwd: first.cwd })
  const all = [first, second]
  return { all, writers: await Promise.all(all.map(({ url }) => Writers.signIn(url))) }
}

if (!keepsStatements()) {
  t.pass('PgBouncer 1.21 or later is not on this machine', { skip: true })
} else {
  t.test('keeps prepared statements while a pooler restarts and reconnects', async (t) => {
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
      t.notMatch(svc.stdout(), /"level":(50|60)|prepared statement/, 'no statement is missing')
    }
  })

  t.test('refuses to start with prepared statements while the pooler does not keep them', async (t) => {
    const direct = await createTestDatabase()
    t.teardown(() => direct.release())
    const pooler = await startPgbouncer(t, direct.url, { statements: 0 })
    await t.rejects(openDatabase({ engine: 'postgresql', url: pooler.url }), PoolerError)
  })
}
