// engine: none
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openSqliteConnection, prepareSqliteFile } from '../../../src/platform/database/sqlite.ts'
import { runTerminalCommand } from '../../support/command.ts'
import { createTestDatabase } from '../../support/postgresql.ts'
import { runCli, temporaryDirectory } from '../../support/process.ts'

async function migrated(t: Test): Promise<string> {
  const database = await createTestDatabase()
  t.teardown(database.drop)
  return database.file ?? ''
}

/** Changes a file with SQL. */
function change(file: string, sql: string): void {
  const db = openSqliteConnection(file)
  db.exec(sql)
  db.close()
}

/** The message of a refused copy. */
const refusal = (from: string, to: string): Promise<string> =>
  runTerminalCommand('db:copy', from, to).then(
    () => 'copied',
    (error: Error) => error.message,
  )

t.test('explains a database that cannot be copied from or to', async (t) => {
  const folder = temporaryDirectory(t)
  const [source, target] = [await migrated(t), join(folder, 'target.db')]
  const to = `file:${target}`
  t.match(await refusal('file:/nowhere/svc.db', to), /^\/.*(svc\.db|missing\.sqlite) does not exist\.$/)
  t.match(await refusal(`file:${source}`, `file:${source}`), /same database/)
  t.match(await refusal('mysql://root:hunter2@localhost/svc', to), /^<from> must be file:<path> or postgresql:/)
  t.match(await refusal(`file:${source}`, 'file::memory:'), /^<to> must be/)

  const text = join(folder, 'text.db')
  writeFileSync(text, 'this is a letter and not a database, whatever its name says')
  t.match(await refusal(`file:${text}`, to), /^The source database cannot be used: file is not a database\.$/)
  t.match(
    await refusal(`file:${source}`, `file:${text}`),
    /^The target database cannot be used: file is not a database\.$/,
  )
  const foreign = join(folder, 'foreign.db')
  change(foreign, 'CREATE TABLE songs (id INTEGER)')
  t.match(await refusal(`file:${foreign}`, to), /it has no tables of svc\.$/)
  t.match(await refusal(`file:${source}`, `file:${text}/svc.db`), /^The target database .*not writable/)
})

t.test('refuses databases of other versions', async (t) => {
  const folder = temporaryDirectory(t)
  const [source, older, newer] = [await migrated(t), await migrated(t), await migrated(t)]
  change(older, `DELETE FROM _prisma_migrations WHERE migration_name LIKE '%_svc_tables'`)
  change(newer, `UPDATE _prisma_migrations SET migration_name = '29990101000000_future'`)
  const to = `file:${join(folder, 'target.db')}`
  t.match(await refusal(`file:${older}`, to), /source .*1 migrations of this version are missing/)
  t.match(await refusal(`file:${newer}`, to), /source .*29990101000000_future.*newer than the program/)
  t.match(await refusal(`file:${source}`, `file:${newer}`), /target .*29990101000000_future.*newer than the program/)
  change(older, 'DELETE FROM _prisma_migrations')
  t.match(await refusal(`file:${source}`, `file:${older}`), /target .*failed and was rolled back/)
})

t.test('leaves the target empty if a row cannot be copied', async (t) => {
  const folder = temporaryDirectory(t)
  const [source, to] = [await migrated(t), join(folder, 'target.db')]
  change(
    source,
    `INSERT INTO sample_tasks (title) VALUES ('fine'); INSERT INTO jobs VALUES ('odd', 'yesterday, about noon')`,
  )
  const message = await refusal(`file:${source}`, `file:${to}`)
  t.match(message, /^The source .*Column last_run_at of table jobs: a date is not readable\.$/)
  change(source, `UPDATE jobs SET last_run_at = 1700000000123`)
  t.equal(await refusal(`file:${source}`, `file:${to}`), 'copied', 'and the next attempt succeeds')
  t.equal(await refusal(`file:${source}`, `file:${to}`).then((text) => /it is not empty/.test(text)), true)

  const inUse = join(folder, 'used.db')
  await prepareSqliteFile(inUse)
  const db = openSqliteConnection(inUse)
  t.teardown(() => db.close())
  db.exec('BEGIN IMMEDIATE')
  t.match(
    await refusal(`file:${source}`, `file:${inUse}`),
    /^The target database cannot be used: it is in use\. Stop svc on it\.$/,
  )
})

t.test('never prints the credentials of a URL', async (t) => {
  const source = await migrated(t)
  const urls = [
    'postgresql://svc:hunter2@127.0.0.1:1/svc',
    'postgresql://svc:hunter2@localhost:port/svc',
    'postgresql://svc:hunt#er2@localhost/svc',
    'postgresql://svc:hunt@er2@localhost:1/svc',
    'postgresql://svc:8000?hunter2@localhost:1/svc',
    'mysql://svc:hunter2@localhost/svc',
  ]
  for (const url of urls) t.notMatch(await refusal(`file:${source}`, url), /hunt|er2|svc:/, url)
  const { code, stdout, stderr } = await runCli(['db:copy', `file:${source}`, 'file:x.db', urls[0] ?? ''], {
    cwd: temporaryDirectory(t),
  })
  t.match({ code, stdout }, { code: 1, stdout: '' })
  t.match(stderr, /^Unexpected argument postgresql:\/\/…@127\.0\.0\.1:1\/svc\.\n/)
})
