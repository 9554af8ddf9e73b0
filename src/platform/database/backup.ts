import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import Sqlite from 'libsql'
import { requireReadable } from './copy/require-readable.ts'
import { DataError } from './copy/values.ts'
import { openSqliteReader } from './database.ts'
import { type AppliedRow, applied, appliedOf } from './migrate.ts'
import { migrationsFolder, pendingMigrations, readMigrations } from './migrations.ts'
import { isBusy } from './sqlite-errors.ts'

/** What a checked backup contains. */
export interface BackupReport {
  file: string
  /** The newest migration that the backup has. */
  schema: string
  /** Number of migrations that a start on it applies. */
  pending: number
  users: number
  sessions: number
  tokens: number
}

/** Writes a consistent copy of an SQLite file that is in use. Throws a DataError if the target exists. */
export function backUp(source: string, file: string): BackupReport {
  if (!existsSync(source))
    throw new DataError(`The database ${source} does not exist yet. svc creates it when it starts.`)
  reserve(file)
  const partial = `${file}.partial`
  try {
    rmSync(partial, { force: true })
    copyInto(source, partial)
    const report = checkBackup(partial)
    renameSync(partial, file)
    return { ...report, file }
  } catch (error) {
    rmSync(partial, { force: true })
    rmSync(file, { force: true })
    throw error
  }
}

/** Creates the file, so that no other process uses its name. */
function reserve(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : ''
    if (code === 'EEXIST') throw new DataError(`${file} exists. Name a new file: a backup overwrites nothing.`)
    const reason = error instanceof Error ? error.message : String(error)
    throw new DataError(`${file} cannot be written: ${reason}.`, { cause: error })
  }
}

/** Writes a copy that only the current user can read, and waits until the disk has it. */
function copyInto(source: string, file: string): void {
  closeSync(openSync(file, 'wx', 0o600))
  const db = new Sqlite(source)
  try {
    db.exec('PRAGMA busy_timeout = 5000')
    // One read transaction, so it contains one state; it does not block writers.
    db.prepare('VACUUM INTO ?').run([file])
  } finally {
    db.close()
  }
  chmodSync(file, 0o600)
  const handle = openSync(file, 'r+')
  fsyncSync(handle)
  closeSync(handle)
}

/** Checks that a file is an intact database of this version of svc or an earlier one. Throws a DataError. */
export function checkBackup(file: string): BackupReport {
  requireReadable(file)
  const db = openSqliteReader(file)
  const all = (sql: string) => db.prepare(sql).raw(true).all([]) as unknown[][]
  const count = (sql: string) => Number(all(sql)[0]?.[0])
  try {
    const [[found] = []] = all('PRAGMA integrity_check(1)')
    if (found !== 'ok') throw new DataError(`${file} is damaged: ${found}.`)
    if (all("SELECT 1 FROM sqlite_master WHERE name = '_prisma_migrations'").length === 0)
      throw new DataError(`${file} is not a database of svc.`)
    if (all('PRAGMA foreign_key_check').length > 0)
      throw new DataError(`${file} is damaged: rows refer to rows that do not exist.`)
    const rows = db.prepare(applied).all() as AppliedRow[]
    const migrations = readMigrations(migrationsFolder('sqlite'))
    const pending = pendingMigrations(migrations, rows.map(appliedOf))
    return {
      file,
      schema: migrations[migrations.length - pending.length - 1]?.name ?? 'none',
      pending: pending.length,
      users: count('SELECT count(*) FROM users'),
      sessions: count('SELECT count(*) FROM sessions'),
      tokens: count('SELECT count(*) FROM personal_access_tokens'),
    }
  } catch (error) {
    if (error instanceof Error && 'rawCode' in error)
      throw new DataError(`${file} is not readable: ${error.message}.`, { cause: error })
    throw error
  } finally {
    db.close()
  }
}

/** Result of a restore. */
export interface Restored extends BackupReport {
  /** Where the former database is now; null if there was none. */
  former: string | null
}

interface RestoreOptions {
  /** The database to replace. */
  target: string
  /** Tables whose rows are deleted. */
  without: readonly string[]
  now: number
}

/** Replaces an SQLite file by a checked backup, and keeps the former file. Throws a DataError if svc uses it. */
export function restore(backup: string, { target, without, now }: RestoreOptions): Restored {
  const report = checkBackup(backup)
  const fresh = `${target}.restoring`
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
  rmSync(fresh, { force: true })
  try {
    copyInto(backup, fresh)
    deleteRows(fresh, without)
    keepOwner(fresh, dirname(target))
    const former = putAside(target, `${target}.replaced-${new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')}`)
    renameSync(fresh, target)
    return { ...report, file: target, former }
  } finally {
    rmSync(fresh, { force: true })
  }
}

/** As root, gives a file to the owner of its directory: the user that runs svc in a container. */
function keepOwner(file: string, directory: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(directory)
  chownSync(file, uid, gid)
}

function deleteRows(file: string, tables: readonly string[]): void {
  const db = new Sqlite(file)
  try {
    for (const table of tables) db.exec(`DELETE FROM ${table}`)
  } finally {
    db.close()
  }
}

/** Renames the database. Throws a DataError while another process has it open. */
function putAside(file: string, former: string): string | null {
  if (!existsSync(file)) return null
  const db = new Sqlite(file)
  try {
    db.exec('PRAGMA busy_timeout = 0')
    // SQLite leaves this mode only for the last connection. It also moves everything from the -wal file into the database.
    db.exec('PRAGMA journal_mode = DELETE')
    db.exec('BEGIN EXCLUSIVE')
    renameSync(file, former)
    db.exec('ROLLBACK')
  } catch (error) {
    if (isBusy(error)) throw new DataError(`${file} is in use. Stop svc, then restore.`)
    // A damaged file is a reason to restore.
    if (!(error instanceof Error && 'rawCode' in error)) throw error
    renameSync(file, former)
    for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
  } finally {
    db.close()
  }
  return former
}
