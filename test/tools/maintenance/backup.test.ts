// engine: none
// lane: all
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { signedInTables } from '../../../src/auth/accounts.ts'
import { backUp, checkBackup, restore } from '../../../src/platform/database/backup.ts'
import { openDatabase } from '../../../src/platform/database/database.ts'
import { openSqliteConnection } from '../../../src/platform/database/sqlite.ts'
import { buildTestApp } from '../../support/app.ts'
import { createTestDatabase } from '../../support/postgresql.ts'
import { runCli, startMain, temporaryDirectory } from '../../support/process.ts'
import { remoteBrowser } from '../../support/remote.ts'
import { failed } from '../../support/shell.ts'
import { issueCredentials, settings, useCredentials } from './credentials.ts'

const password = 'correct horse'

t.test('backs up while svc runs, restores after it stopped, and the user signs in', async (t) => {
  const cwd = temporaryDirectory(t)
  const env = { DATABASE_URL: 'file:./svc.db', SVC_SECRET: 'the-secret-of-the-tests-is-32-bytes-long' }
  const svc = (...args: string[]) => runCli(args, { cwd, env, input: `${password}\n` })
  const create = (name: string) => svc('user:create', `--email=${name}@example.com`, `--name=${name}`)
  await create('ada')
  const running = await startMain(t, { cwd, env })
  const status = async (url: string, name: string) =>
    (await remoteBrowser(url, { url: 'http://localhost:8000' }).signIn(`${name}@example.com`, password)).statusCode
  t.equal(await status(running.url, 'ada'), 200)

  const made = await svc('backup', 'copy.db')
  t.equal(made.code, 0, made.stderr)
  t.match(JSON.parse(made.stdout), { file: join(cwd, 'copy.db'), pending: 0, users: 1, sessions: 1 })
  t.equal(statSync(join(cwd, 'copy.db')).mode & 0o777, 0o600)
  failed(t, await svc('backup', 'copy.db'), /copy\.db exists\. Name a new file/)
  await create('bob')
  t.equal(await status(running.url, 'bob'), 200)
  failed(t, await svc('restore', 'copy.db'), /svc\.db is in use\. Stop svc, then restore\.$/m)
  t.equal(await status(running.url, 'bob'), 200, 'the refused restore changed nothing')

  await running.stop()
  const checked = await svc('restore', 'copy.db', '--check')
  t.match(JSON.parse(checked.stdout), { users: 1, pending: 0, schema: /^\d{14}_\w+$/ })
  const restored = await svc('restore', 'copy.db', '--end-sessions')
  t.equal(restored.code, 0, restored.stderr)
  const { former } = JSON.parse(restored.stdout)
  t.match(former, /svc\.db\.replaced-\d{8}T\d{6}Z$/)
  t.ok(existsSync(former))
  t.same(
    readdirSync(cwd).filter((name) => /partial|restoring|-wal|-shm/.test(name)),
    [],
  )
  const again = await startMain(t, { cwd, env })
  t.equal(await status(again.url, 'ada'), 200)
  t.equal(await status(again.url, 'bob'), 401, 'the state of the backup')
})

t.test('restores every credential of the backup, or ends its sessions and grants with --end-sessions', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const issued = await issueCredentials(svc)
  const folder = temporaryDirectory(t)
  const [backup, target, ended] = [join(folder, 'backup.db'), join(folder, 'a', 'svc.db'), join(folder, 'b.db')]
  backUp(svc.where.file ?? '', backup)
  const now = svc.clock.now()
  t.match(restore(backup, { target, without: [], now }), { former: null, file: target })
  t.equal(statSync(target).mode & 0o777, 0o600)
  const there = await buildTestApp(t, { settings, database: { url: `file:${target}`, file: target }, clock: svc.clock })
  await useCredentials(t, there, issued)

  restore(backup, { target: ended, without: signedInTables, now })
  const other = await buildTestApp(t, { settings, database: { url: `file:${ended}`, file: ended }, clock: svc.clock })
  t.equal((await other.bearer(issued.token, 'GET', '/api/user')).statusCode, 200, 'API tokens stay')
  t.equal((await other.bearer(issued.jwt, 'GET', '/api/user')).statusCode, 401, 'grants end')
  t.equal(await other.database.prisma.session.count(), 0)
})

t.test('refuses files that are damaged, of another program or of a newer version', async (t) => {
  const cwd = temporaryDirectory(t)
  const database = await createTestDatabase()
  t.teardown(database.drop)
  const env = { DATABASE_URL: database.url, SVC_SECRET: 'the-secret-of-the-tests-is-32-bytes-long' }
  const svc = (...args: string[]) => runCli(args, { cwd, env })
  const variant = (name: string, sql: string) => {
    copyFileSync(database.file ?? '', join(cwd, name))
    const db = openSqliteConnection(join(cwd, name))
    db.exec(`PRAGMA foreign_keys = OFF; ${sql}`)
    db.close()
  }
  variant('newer.db', "UPDATE _prisma_migrations SET migration_name = '29990101000000_future', logs = NULL")
  variant('orphan.db', "INSERT INTO password_resets VALUES (77, 'x', '2026-01-01T00:00:00.000+00:00')")
  variant('foreign.db', 'DROP TABLE _prisma_migrations')
  variant('damaged.db', "PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE name = 'users_email_key'")
  writeFileSync(join(cwd, 'text.db'), 'dear diary, this is not a database')
  writeFileSync(join(cwd, 'empty.db'), '')
  const before = readFileSync(database.file ?? '')
  const expected = {
    'missing.db': /missing\.db does not exist\./,
    'newer.db': /29990101000000_future.*newer than the program/,
    'orphan.db': /is damaged: rows refer to rows that do not exist/,
    'foreign.db': /foreign\.db is not a database of svc\./,
    'damaged.db': /damaged\.db is damaged/,
    'text.db': /text\.db is not readable: file is not a database\./,
    'empty.db': /empty\.db is not a database of svc\./,
  }
  for (const [name, pattern] of Object.entries(expected)) {
    t.throws(() => restore(join(cwd, name), { target: database.file ?? '', without: [], now: 0 }), { message: pattern })
  }
  failed(t, await svc('restore', 'newer.db', '--check'), expected['newer.db'])
  t.same(readFileSync(database.file ?? ''), before, 'the database is unchanged')
  t.throws(() => backUp(database.file ?? '', join(cwd, 'nowhere', 'x.db')), { message: /cannot be written: ENOENT/ })
  t.throws(() => backUp(join(cwd, 'none.db'), join(cwd, 'x.db')), { message: /none\.db does not exist yet/ })
  t.notOk(existsSync(join(cwd, 'x.db')))
  const onServer = { ...env, DATABASE_URL: 'postgresql://svc:hunter2@127.0.0.1:1/svc' }
  const refused = await runCli(['backup', 'x.db'], { cwd, env: onServer })
  failed(t, refused, /^This command is for the embedded database\..*pg_dump/)
})

t.test(
  'names the owner of a backup that it cannot read',
  { skip: process.getuid?.() !== 0 && 'not root' },
  async (t) => {
    const cwd = temporaryDirectory(t)
    const file = join(cwd, 'copied.db')
    writeFileSync(file, '', { mode: 0o600 })
    chmodSync(cwd, 0o755)
    const refusal = () => {
      process.seteuid?.(65_534)
      try {
        checkBackup(file)
        return ''
      } catch (error) {
        return String(error)
      } finally {
        process.seteuid?.(0)
      }
    }
    t.match(
      refusal(),
      /copied\.db cannot be read: it belongs to user 0 with mode 600, and this command runs as user 65534\. /,
    )
    chmodSync(cwd, 0o700)
    t.match(refusal(), /copied\.db cannot be read: user 65534 may not open its directory\. /)
  },
)

t.test(
  'gives the database to the owner of its directory when root restores',
  { skip: process.getuid?.() !== 0 && 'not root' },
  async (t) => {
    const cwd = temporaryDirectory(t)
    const source = join(cwd, 'source.db')
    await (await openDatabase({ engine: 'sqlite', url: `file:${source}` })).close()
    const data = join(cwd, 'data')
    mkdirSync(data)
    chownSync(data, 1000, 1000)
    const target = join(data, 'svc.db')
    restore(source, { target, without: [], now: Date.now() })
    t.match(statSync(target), { uid: 1000, gid: 1000 })
  },
)
