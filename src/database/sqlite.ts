import { accessSync, closeSync, constants, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import Sqlite from 'libsql'
import { type MigrationLog, migrateSqlite } from './migrate.ts'
import { MigrationError, migrationsFolder } from './migrations.ts'

/** How long the native driver waits for another process's lock: it stops the event loop, so the rest is waited outside. */
const NATIVE_WAIT = 50

/** Opens a connection that writes, with everything a connection must be told set. */
export function openSqliteConnection(file: string): Sqlite.Database {
  const db = new Sqlite(file)
  db.exec(`PRAGMA busy_timeout = ${NATIVE_WAIT}`)
  db.exec('PRAGMA synchronous = FULL')
  db.exec('PRAGMA foreign_keys = ON')
  return db
}

/** Makes the file and its directory if need be, readable by this user alone, and brings the tables up to date. */
export async function prepareSqliteFile(file: string, log?: MigrationLog): Promise<void> {
  makeFile(file)
  const db = openSqliteConnection(file)
  try {
    db.exec('PRAGMA busy_timeout = 5000')
    db.exec('PRAGMA journal_mode = WAL')
    db.exec(`PRAGMA busy_timeout = ${NATIVE_WAIT}`)
    await migrateSqlite(db, { folder: migrationsFolder('sqlite'), log })
  } finally {
    db.close()
  }
}

function makeFile(file: string): void {
  const folder = dirname(file)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // SQLite gives its side files (-wal, -shm) the mode of this one.
    closeSync(openSync(file, 'a', 0o600))
    accessSync(folder, constants.W_OK)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new MigrationError(
      `The data directory ${folder} cannot be written (${reason}). Let the user that runs svc own it, or put the ` +
        `database elsewhere with DATABASE_URL=file:/path/to/svc.db.`,
      { cause },
    )
  }
}
