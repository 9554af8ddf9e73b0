import { accessSync, closeSync, constants, mkdirSync, openSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Sqlite from 'libsql'
import { type MigrationLog, migrateSqlite } from './migrate.ts'
import { MigrationError, migrationsFolder } from './migrations.ts'

/**
 * How long the native driver waits for a lock, in milliseconds. It blocks the event loop, so longer waits happen
 * outside.
 */
const NATIVE_WAIT = 50

/** Opens a read-write connection with svc's pragmas. */
export function openSqliteConnection(file: string): Sqlite.Database {
  const db = new Sqlite(file)
  db.exec(`PRAGMA busy_timeout = ${NATIVE_WAIT}`)
  db.exec('PRAGMA synchronous = FULL')
  db.exec('PRAGMA foreign_keys = ON')
  return db
}

/** Creates the file and its directory if needed, readable only by the current user, and applies pending migrations. */
export async function prepareSqliteFile(file: string, log?: MigrationLog): Promise<void> {
  makeFile(file)
  const db = openDatabase(file)
  try {
    db.exec('PRAGMA busy_timeout = 5000')
    db.exec('PRAGMA journal_mode = WAL')
    db.exec(`PRAGMA busy_timeout = ${NATIVE_WAIT}`)
    await migrateSqlite(db, { folder: migrationsFolder('sqlite'), log })
  } finally {
    db.close()
  }
}

/** Opens the file, and explains the error if it is another file or damaged. */
function openDatabase(file: string): Sqlite.Database {
  try {
    return openSqliteConnection(file)
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : null
    if (code !== 'SQLITE_NOTADB' && code !== 'SQLITE_CORRUPT') throw cause
    throw new MigrationError(
      `${file} is not an SQLite database, or it is damaged. Set database.url (DATABASE_URL) to the right file, or ` +
        'restore a backup with svc restore.',
      { cause },
    )
  }
}

function makeFile(file: string): void {
  const folder = dirname(file)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // SQLite copies this mode to its -wal and -shm files.
    closeSync(openSync(file, 'a', 0o600))
    accessSync(folder, constants.W_OK)
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EISDIR') {
      const example = `file:${join(file, 'svc.db')}`
      throw new MigrationError(
        `${file} is a directory. Set database.url (DATABASE_URL) to a file, such as ${example}.`,
        { cause },
      )
    }
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new MigrationError(
      `The data directory ${folder} is not writable (${reason}). Make the user that runs svc its owner, or put the ` +
        `database elsewhere with DATABASE_URL=file:/path/to/svc.db.`,
      { cause },
    )
  }
}
