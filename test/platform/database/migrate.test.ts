import { createHash } from 'node:crypto'
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'libsql'
import pg from 'pg'
import t, { type Test as Tap } from 'tap'
import { difference } from '../../../prisma/difference.ts'
import { migratePostgresql, migrateSqlite } from '../../../src/platform/database/migrate.ts'
import {
  type Engine,
  MigrationError,
  migrationsFolder,
  pendingMigrations,
  readMigrations,
} from '../../../src/platform/database/migrations.ts'
import { prepareSqliteFile } from '../../../src/platform/database/sqlite.ts'
import { version } from '../../../src/platform/version.ts'
import { createTestDatabase, testEngine } from '../../support/postgresql.ts'
import { until } from '../../support/until.ts'

interface Target {
  url: string
  /** Migrates over a separate connection. */
  migrate(folder: string, lockTimeout?: number, onWait?: () => void): Promise<string[]>
  rows(sql: string): Promise<Record<string, unknown>[]>
  /** Holds the lock until the returned function is called. */
  lock(): Promise<() => Promise<void>>
}

/** A log whose only warning is that another process holds the lock. */
const logOf = (onWait: () => void = () => undefined) => ({ info: () => undefined, warn: onWait })

async function target(t: Tap): Promise<Target> {
  const database = await createTestDatabase({ bare: true })
  t.teardown(() => database.drop())
  return database.file ? onSqlite(database.file) : onPostgresql(database.url)
}

function onPostgresql(url: string): Target {
  const connect = async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    return client
  }
  const using = async <T>(work: (client: pg.Client) => Promise<T>) => {
    const client = await connect()
    return work(client).finally(() => client.end())
  }
  return {
    url,
    migrate: (folder, lockTimeout, onWait) =>
      using((client) => migratePostgresql(client, { folder, lockTimeout, connect, log: logOf(onWait) })),
    rows: (sql) => using(async (client) => (await client.query(sql)).rows ?? []),
    async lock() {
      const client = await connect()
      await client.query('SELECT pg_advisory_lock(72707369)')
      return () => client.end()
    },
  }
}

function onSqlite(file: string): Target {
  const using = async <T>(work: (db: Sqlite.Database) => T | Promise<T>) => {
    const db = new Sqlite(file)
    try {
      return await work(db)
    } finally {
      db.close()
    }
  }
  return {
    url: `file:${file}`,
    migrate: (folder, lockTimeout, onWait) =>
      using((db) => migrateSqlite(db, { folder, lockTimeout, log: logOf(onWait) })),
    rows: (sql) =>
      using((db) => {
        if (/^select/i.test(sql)) return db.prepare(sql).all() as Record<string, unknown>[]
        db.exec(sql)
        return []
      }),
    async lock() {
      const db = new Sqlite(file)
      db.exec('PRAGMA journal_mode = WAL; BEGIN IMMEDIATE')
      return async () => void db.close()
    },
  }
}

function write(folder: string, scripts: Record<string, string>): string {
  rmSync(folder, { recursive: true, force: true })
  for (const [name, script] of Object.entries(scripts)) {
    mkdirSync(join(folder, name), { recursive: true })
    writeFileSync(join(folder, name, 'migration.sql'), script)
  }
  return folder
}

const FIRST = 'CREATE TABLE parents (id INTEGER PRIMARY KEY);'
const SECOND =
  'CREATE TABLE children (id INTEGER PRIMARY KEY, parent INTEGER NOT NULL REFERENCES parents (id) ON DELETE CASCADE);'

t.test('produces exactly the models from the migrations', async (t) => {
  const db = await target(t)
  t.not(await difference(testEngine, db.url), '', 'an empty database differs')
  await db.migrate(migrationsFolder(testEngine))
  t.equal(await difference(testEngine, db.url), '')
})

t.test('applies migrations in order, records them as Prisma does, and then does nothing', async (t) => {
  const db = await target(t)
  const folder = join(t.testdir(), 'migrations')
  write(folder, { '2_second': SECOND, '1_first': FIRST })
  t.same(await db.migrate(folder), ['1_first', '2_second'])
  t.same(await db.migrate(folder), [])
  const [row, ...more] = await db.rows('SELECT * FROM _prisma_migrations ORDER BY migration_name')
  t.equal(more.length, 1)
  t.match(row, {
    migration_name: '1_first',
    rolled_back_at: null,
    logs: null,
    applied_steps_count: 1,
  })
  t.equal(row?.checksum, createHash('sha256').update(FIRST).digest('hex'))
  t.match(row?.id, /^[0-9a-f-]{36}$/)
  t.ok(row?.finished_at)

  write(folder, {
    '1_first': FIRST.replace(';', ';\r\n'),
    '2_second': SECOND,
  })
  await t.rejects(db.migrate(folder), {
    name: 'MigrationError',
    message: /1_first was edited/,
  })
  write(folder, { '1_first': FIRST })
  await t.rejects(db.migrate(folder), {
    name: 'MigrationError',
    message: /2_second.*newer than the program/,
  })
})

t.test('runs on a newer database as long as its migrations allow that', async (t) => {
  const db = await target(t)
  const folder = join(t.testdir(), 'migrations')
  const compatible = `-- Oldest version: ${version}\n${SECOND}`
  write(folder, { '1_first': FIRST, '2_second': compatible })
  await db.migrate(folder)
  const [, row] = await db.rows('SELECT * FROM _prisma_migrations ORDER BY migration_name')
  t.equal(row?.logs, `oldest version ${version}`)
  write(folder, { '1_first': FIRST })
  t.same(await db.migrate(folder), [], 'the program before the second migration starts')
  write(folder, { '1_first': FIRST, '2_second': compatible, '3_third': '-- Oldest version: 99.10.0\nSELECT 1;' })
  t.same(await db.migrate(folder), ['3_third'])
  write(folder, { '1_first': FIRST, '2_second': compatible })
  await t.rejects(db.migrate(folder), {
    name: 'MigrationError',
    message: /3_third, which needs svc 99\.10\.0 or later, .*newer than the program/,
  })
  const [third] = readMigrations(write(folder, { '3_third': SECOND }))
  const applied = [{ name: '9_other', checksum: '', finished: true, rolledBack: false, oldest: '0.0.9' }]
  t.same(pendingMigrations(third ? [third] : [], applied), [third], '0.0.9 is older')
  t.throws(() => pendingMigrations([], applied, true), /9_other/, 'a copy needs the same schema')
})

t.test('refuses to continue after a failed migration until its row is marked as rolled back', async (t) => {
  const db = await target(t)
  const folder = join(t.testdir(), 'migrations')
  write(folder, { '1_first': FIRST })
  await db.migrate(folder)
  await db.rows('UPDATE _prisma_migrations SET finished_at = NULL')
  await t.rejects(db.migrate(folder), {
    name: 'MigrationError',
    message: /migration 1_first started but did not finish/,
  })
  await db.rows('UPDATE _prisma_migrations SET rolled_back_at = CURRENT_TIMESTAMP')
  await db.rows('DROP TABLE parents')
  t.same(await db.migrate(folder), ['1_first'])
})

t.test('rolls back a broken script completely', async (t) => {
  const db = await target(t)
  const folder = join(t.testdir(), 'migrations')
  write(folder, {
    '1_first': FIRST,
    '2_broken': `${SECOND} INSERT INTO parents VALUES (1); INSERT INTO nowhere VALUES (1); CREATE TABLE after (id INTEGER);`,
    '3_third': 'CREATE TABLE third (id INTEGER);',
  })
  const failure = await db.migrate(folder).catch((error: unknown) => error)
  t.ok(failure instanceof MigrationError && failure.cause)
  t.match(failure, {
    message: /2_broken failed and was rolled back.*nowhere/,
  })
  t.same(await db.rows('SELECT id FROM parents'), [])
  for (const table of ['children', 'after', 'third']) await t.rejects(db.rows(`SELECT * FROM ${table}`), table)
  const recorded = await db.rows('SELECT migration_name FROM _prisma_migrations')
  t.same(
    recorded.map((row) => row.migration_name),
    ['1_first'],
  )
  write(folder, { '1_first': FIRST, '2_broken': SECOND })
  t.same(await db.migrate(folder), ['2_broken'], 'the repaired script is applied')
})

t.test('waits for another process up to a timeout', async (t) => {
  const db = await target(t)
  const folder = join(t.testdir(), 'migrations')
  write(folder, { '1_first': FIRST })
  const unlock = await db.lock()
  await t.rejects(db.migrate(folder, 300), {
    name: 'MigrationError',
    message: /held the migration lock/,
  })
  let isWaiting = false
  const waiting = db.migrate(folder, 60_000, () => {
    isWaiting = true
  })
  await until(() => isWaiting)
  await unlock()
  t.same(await waiting, ['1_first'])
})

t.test('has the same migrations for both engines', async (t) => {
  const names = (engine: Engine) => readMigrations(migrationsFolder(engine)).map((migration) => migration.name)
  t.same(names('sqlite'), names('postgresql'))
  t.match(names('sqlite')[0], /^\d{14}_svc_tables$/)
})

if (testEngine === 'sqlite') {
  t.test('keeps referring rows when it rebuilds a table on SQLite', async (t) => {
    const db = await target(t)
    const folder = join(t.testdir(), 'migrations')
    write(folder, { '1_first': FIRST, '2_second': SECOND })
    await db.migrate(folder)
    await db.rows('INSERT INTO parents VALUES (1); INSERT INTO children VALUES (7, 1)')
    // The form that the diff writes when SQLite cannot alter a column.
    const rebuild = `PRAGMA defer_foreign_keys=ON; PRAGMA foreign_keys=OFF;
    CREATE TABLE new_parents (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO new_parents (id) SELECT id FROM parents;
    DROP TABLE parents; ALTER TABLE new_parents RENAME TO parents;
    PRAGMA foreign_keys=ON; PRAGMA defer_foreign_keys=OFF;`
    write(folder, {
      '1_first': FIRST,
      '2_second': SECOND,
      '3_rebuild': rebuild,
    })
    t.same(await db.migrate(folder), ['3_rebuild'])
    t.same(await db.rows('SELECT id, parent FROM children'), [{ id: 7, parent: 1 }])

    write(folder, {
      '1_first': FIRST,
      '2_second': SECOND,
      '3_rebuild': rebuild,
      '4_orphan': 'DELETE FROM parents;',
    })
    await t.rejects(db.migrate(folder), {
      message: /4_orphan.*1 rows violate a foreign key/,
    })
    t.equal((await db.rows('SELECT id FROM parents')).length, 1)
  })

  t.test('names a data directory that is not writable', async (t) => {
    const folder = t.testdir({ file: '' })
    await t.rejects(prepareSqliteFile(join(folder, 'file', 'svc.db')), {
      name: 'MigrationError',
      message: /data directory .*file is not writable .*DATABASE_URL=file:/,
    })
  })

  t.test('names a directory in place of the database file', async (t) => {
    const folder = t.testdir({})
    await t.rejects(prepareSqliteFile(folder), {
      name: 'MigrationError',
      message: `${folder} is a directory. Set database.url (DATABASE_URL) to a file, such as file:${join(folder, 'svc.db')}.`,
    })
  })

  t.test('names a file that is not a database', async (t) => {
    const file = join(t.testdir({ 'notes.txt': 'Milk, eggs, bread. '.repeat(500) }), 'notes.txt')
    await t.rejects(prepareSqliteFile(file), {
      name: 'MigrationError',
      message: /notes\.txt is not an SQLite database, or it is damaged\. Set database\.url .* svc restore\./,
    })
  })

  t.test('creates the directory and the file for its own user only', async (t) => {
    const folder = join(t.testdir(), 'a', 'b')
    await prepareSqliteFile(join(folder, 'svc.db'))
    t.equal(statSync(folder).mode & 0o777, 0o700)
    t.equal(statSync(join(folder, 'svc.db')).mode & 0o777, 0o600)
  })
}
