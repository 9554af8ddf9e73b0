import { setTimeout as sleep } from 'node:timers/promises'
import type Sqlite from 'libsql'
import type pg from 'pg'
import { concurrentIndexOf, createConcurrentIndex } from './concurrent-index.ts'
import {
  type Applied,
  type Migration,
  MigrationError,
  pendingMigrations,
  readMigrations,
  recordedOldest,
  recordOf,
} from './migrations.ts'
import { isBusy } from './sqlite-errors.ts'

/** Logger of the migration runner; compatible with pino. */
export interface MigrationLog {
  debug?(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

/** Default of `lockTimeout`. */
const lockTimeout = 60_000

export interface MigrateOptions {
  folder: string
  log?: MigrationLog | undefined
  /** How long to wait for another process that migrates, in milliseconds. */
  lockTimeout?: number | undefined
}

export interface PostgresqlMigrateOptions extends MigrateOptions {
  /** Opens another connection, which creates indexes while the first one holds the lock. */
  connect(): Promise<pg.Client>
}

/** Maximum time that a migration waits for the lock of a table, because requests wait behind it. */
const TABLE_LOCK_TIMEOUT = '1s'
const LOCK_NOT_AVAILABLE = '55P03'

// The lock of Prisma's own migration tool, so that the two exclude each other.
const ADVISORY_LOCK = 72707369

const POSTGRESQL_TABLE = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id VARCHAR(36) PRIMARY KEY NOT NULL,
  checksum VARCHAR(64) NOT NULL,
  finished_at TIMESTAMPTZ,
  migration_name VARCHAR(255) NOT NULL,
  logs TEXT,
  rolled_back_at TIMESTAMPTZ,
  started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  applied_steps_count INTEGER NOT NULL DEFAULT 0
)`

const SQLITE_TABLE = `CREATE TABLE IF NOT EXISTS "_prisma_migrations" (
  "id" TEXT PRIMARY KEY NOT NULL,
  "checksum" TEXT NOT NULL,
  "finished_at" DATETIME,
  "migration_name" TEXT NOT NULL,
  "logs" TEXT,
  "rolled_back_at" DATETIME,
  "started_at" DATETIME NOT NULL DEFAULT current_timestamp,
  "applied_steps_count" INTEGER UNSIGNED NOT NULL DEFAULT 0
)`

/** Reads the applied migrations, on both engines. */
export const applied =
  'SELECT migration_name AS name, checksum, finished_at, rolled_back_at, logs FROM _prisma_migrations ORDER BY started_at'

/** Row of `applied`. */
export interface AppliedRow {
  name: string
  checksum: string
  finished_at: unknown
  rolled_back_at: unknown
  logs: string | null
}

export function appliedOf(row: AppliedRow): Applied {
  const { name, checksum, logs } = row
  const [finished, rolledBack] = [row.finished_at !== null, row.rolled_back_at !== null]
  return { name, checksum, finished, rolledBack, oldest: recordedOldest(logs) }
}

/** Applies pending migrations to PostgreSQL over a separate connection; returns their names. */
export async function migratePostgresql(client: pg.Client, options: PostgresqlMigrateOptions): Promise<string[]> {
  const migrations = readMigrations(options.folder)
  const done: string[] = []
  const deadline = performance.now() + (options.lockTimeout ?? lockTimeout)
  for (let busy = 0; ; ) {
    // The lock belongs to the transaction: behind a pooler, the next transaction may run on another connection. So
    // pending migrations are read again inside each one.
    await waitForLock(options, () => beginLocked(client))
    try {
      const [next] = pendingMigrations(migrations, await appliedTo(client))
      if (next) await applyPostgresql(client, next, options.connect)
      await client.query('COMMIT')
      if (!next) return report(done, options)
      options.log?.debug?.({ migration: next.name }, 'migration applied')
      done.push(next.name)
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {})
      if (!isTableLocked(error) || performance.now() >= deadline) throw error
      if (busy++ === 0) options.log?.warn({ err: error }, 'waiting for a transaction that locks a table')
      await sleep(1_000)
    }
  }
}

/** Logs the applied migrations in one line, and returns them. */
function report(done: string[], { log }: MigrateOptions): string[] {
  if (done.length > 0) log?.info({ migrations: done.length, last: done.at(-1) }, 'migrations applied')
  return done
}

const isTableLocked = (error: unknown): boolean =>
  error instanceof MigrationError && (error.cause as { code?: unknown } | undefined)?.code === LOCK_NOT_AVAILABLE

async function beginLocked(client: pg.Client): Promise<boolean> {
  await client.query('BEGIN')
  const { rows } = await client.query<{ got: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS got', [ADVISORY_LOCK])
  if (rows[0]?.got) return true
  await client.query('ROLLBACK')
  return false
}

async function appliedTo(client: pg.Client) {
  // Creates the table only if it is missing: a role without DDL rights must be able to start on a migrated database.
  const { rows } = await client.query<{ there: boolean }>(
    `SELECT to_regclass('_prisma_migrations') IS NOT NULL AS there`,
  )
  if (!rows[0]?.there) await client.query(POSTGRESQL_TABLE)
  return (await client.query<AppliedRow>(applied)).rows.map(appliedOf)
}

async function applyPostgresql(
  client: pg.Client,
  migration: Migration,
  connect: PostgresqlMigrateOptions['connect'],
): Promise<void> {
  const { script } = migration
  const index = concurrentIndexOf(script)
  try {
    await client.query(`SET LOCAL lock_timeout = '${TABLE_LOCK_TIMEOUT}'`)
    if (index === null) await client.query(script)
    else await usingOther(connect, (other) => createConcurrentIndex(other, index, script))
    const { sql, values } = recordOf(migration, (n) => `$${n}`)
    await client.query(sql, values)
  } catch (cause) {
    throw failure(migration.name, cause)
  }
}

async function usingOther(
  connect: PostgresqlMigrateOptions['connect'],
  work: (other: pg.Client) => Promise<void>,
): Promise<void> {
  const other = await connect()
  await work(other).finally(() => other.end())
}

/** Applies pending migrations to SQLite over a separate connection; returns their names. */
export async function migrateSqlite(db: Sqlite.Database, options: MigrateOptions): Promise<string[]> {
  const migrations = readMigrations(options.folder)
  // Rebuilding a table drops the old one, which would cascade to its children while foreign keys are on. The pragma has
  // no effect inside a transaction. All foreign keys are checked before the commit instead.
  db.exec('PRAGMA foreign_keys = OFF')
  const done: string[] = []
  try {
    for (;;) {
      // The write transaction is the lock, so pending migrations are read again inside each one.
      await waitForLock(options, async () => begin(db))
      db.exec(SQLITE_TABLE)
      const rows = db.prepare(applied).all() as AppliedRow[]
      const [next] = pendingMigrations(migrations, rows.map(appliedOf))
      if (next) applySqlite(db, next)
      db.exec('COMMIT')
      if (!next) return report(done, options)
      options.log?.debug?.({ migration: next.name }, 'migration applied')
      done.push(next.name)
    }
  } finally {
    if (db.inTransaction) db.exec('ROLLBACK')
    db.exec('PRAGMA foreign_keys = ON')
  }
}

function applySqlite(db: Sqlite.Database, migration: Migration): void {
  try {
    db.exec(migration.script)
    const orphans = db.prepare('PRAGMA foreign_key_check').all()
    if (orphans.length > 0) throw new Error(`${orphans.length} rows violate a foreign key`)
    const { sql, values } = recordOf(migration, () => '?')
    db.prepare(sql).run(...values)
  } catch (cause) {
    throw failure(migration.name, cause)
  }
}

function begin(db: Sqlite.Database): boolean {
  try {
    db.exec('BEGIN IMMEDIATE')
    return true
  } catch (error) {
    if (isBusy(error)) return false
    throw error
  }
}

async function waitForLock(options: MigrateOptions, attempt: () => Promise<boolean>): Promise<void> {
  const timeout = options.lockTimeout ?? lockTimeout
  const deadline = performance.now() + timeout
  for (let tries = 0; !(await attempt()); tries++) {
    if (performance.now() >= deadline) {
      throw new MigrationError(
        `Another process has held the migration lock for ${Math.round(timeout / 1000)} s. If it is still migrating, start ` +
          `again when it has finished. If it hangs, stop it first.`,
      )
    }
    if (tries % 40 === 1) options.log?.warn({}, 'waiting for another process to migrate the database')
    await sleep(200 + Math.random() * 100)
  }
}

function failure(name: string, cause: unknown): MigrationError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new MigrationError(`Migration ${name} failed and was rolled back: ${reason}`, { cause })
}
