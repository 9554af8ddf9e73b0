import pg from 'pg'
import t, { type Test } from 'tap'
import { openCopy } from '../../../src/platform/database/copy/open.ts'
import { migrationsFolder, readMigrations } from '../../../src/platform/database/migrations.ts'
import { openSqliteConnection } from '../../../src/platform/database/sqlite.ts'
import { createTestDatabase, type TestDatabase, testEngine } from '../../support/postgresql.ts'
import { runCli, temporaryDirectory } from '../../support/process.ts'

async function change({ url, file }: TestDatabase, sql: string): Promise<void> {
  if (file) {
    const db = openSqliteConnection(file)
    db.exec(sql)
    db.close()
    return
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(sql)
  await client.end()
}

/** Records one applied migration, in place of all others. */
const record = (database: TestDatabase, name: string): Promise<void> =>
  change(
    database,
    `DELETE FROM _prisma_migrations;
    INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
    VALUES ('1', '', '${name}', CURRENT_TIMESTAMP, CURRENT_TIMESTAMP, 1)`,
  )

async function statusOf(t: Test, url: string) {
  const env = { DATABASE_URL: url, SVC_SECRET: 'the-secret-of-the-tests-is-32-bytes-long' }
  const { code, stdout, stderr } = await runCli(['db:status'], { cwd: temporaryDirectory(t), env })
  t.equal(stderr, '')
  return { code, ...JSON.parse(stdout) }
}

const names = readMigrations(migrationsFolder(testEngine)).map(({ name }) => name)
const last = names.at(-1) ?? ''

t.test('prints what a start does to the database, and changes nothing', async (t) => {
  const bare = await createTestDatabase({ bare: true })
  const database = await createTestDatabase()
  t.teardown(() => Promise.all([bare.drop(), database.drop()]))
  t.match(await statusOf(t, bare.url), { code: 2, state: 'pending', applied: [], pending: names })
  const connection = await openCopy({ engine: testEngine, url: bare.url, file: bare.file ?? null })
  t.same(await connection.tables(), [], 'it created nothing')
  await connection.close()

  t.match(await statusOf(t, database.url), { code: 0, state: 'current', applied: names, pending: [], reason: null })
  await change(database, `DELETE FROM _prisma_migrations WHERE migration_name = '${last}'`)
  t.match(await statusOf(t, database.url), { code: 2, state: 'pending', pending: [last], unknown: [] })
  await record(database, '29990101000000_future')
  const newer = await statusOf(t, database.url)
  t.match(newer, { code: 1, state: 'blocked', unknown: ['29990101000000_future'], reason: /newer than the program/ })
  await record(database, '20261120132941_foundation_tables')
  t.match(await statusOf(t, database.url), {
    code: 1,
    state: 'blocked',
    reason: /from before the first release.*an empty database/,
  })
})
