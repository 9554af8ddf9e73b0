import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { appliedOf } from '../migrate.ts'
import { migrationsFolder, pendingMigrations, readMigrations } from '../migrations.ts'
import { preparePostgresql } from '../postgresql.ts'
import { prepareSqliteFile } from '../sqlite.ts'
import { Checksum } from './checksum.ts'
import type { CopyConnection, Place } from './connection.ts'
import { openCopy } from './open.ts'
import { requireReadable } from './require-readable.ts'
import { DataError, type Table } from './values.ts'

/** Rows per statement. */
const batch = 1_000

/** A copied table. */
export interface CopiedTable {
  table: string
  rows: number
  checksum: string
}

/** Reports how many rows of a table are copied. */
export type Progress = (table: string, rows: number, total: number) => void | Promise<void>

/**
 * Copies all rows of svc from one database to another, from one state of the source, and compares both. Throws a
 * DataError and leaves the target without rows if anything fails.
 */
export async function copyDatabase(from: Place, to: Place, progress: Progress): Promise<CopiedTable[]> {
  if (isSame(from, to)) throw new DataError('The source and the target are the same database.')
  if (from.file !== null) requireReadable(from.file)
  const source = await during('source', () => openCopy(from))
  try {
    const tables = await during('source', () => readSource(source, from))
    await during('target', () => prepare(to))
    const target = await during('target', () => openCopy(to))
    try {
      return await copyTables(source, target, tables, progress)
    } finally {
      await target.close().catch(() => undefined)
    }
  } finally {
    await source.close().catch(() => undefined)
  }
}

/** Resolves symbolic links in the path of a file. */
function realPath(file: string): string {
  if (existsSync(file)) return realpathSync(file)
  const folder = dirname(file)
  return existsSync(folder) ? join(realpathSync(folder), file.slice(folder.length)) : file
}

const isSame = (from: Place, to: Place): boolean =>
  from.file !== null && to.file !== null ? realPath(from.file) === realPath(to.file) : from.url === to.url

/** Adds to an error which of the two databases it is about. */
async function during<T>(which: 'source' | 'target', work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const parts = error instanceof AggregateError ? error.errors : [error]
    const reason = parts.map((part) => (part instanceof Error ? part.message : String(part))).join(', ')
    const text = /[.!?]$/.test(reason) ? reason : `${reason}.`
    throw new DataError(`The ${which} database cannot be used: ${text}`, { cause: error })
  }
}

/** The number of migrations that the database lacks; null if it never had any. */
async function countPending(connection: CopyConnection, { engine }: Place): Promise<number | null> {
  const rows = await connection.applied()
  return rows && pendingMigrations(readMigrations(migrationsFolder(engine)), rows.map(appliedOf), true).length
}

async function readSource(source: CopyConnection, from: Place): Promise<Table[]> {
  await source.beginRead()
  const pending = await countPending(source, from)
  if (pending === null) throw new DataError('it has no tables of svc')
  if (pending > 0) {
    throw new DataError(
      `${pending} migrations of this version are missing. Start this version of svc on it, or copy with the version that it is from`,
    )
  }
  return source.tables()
}

/** Creates or migrates an empty target. Throws a DataError if it has rows. */
async function prepare(to: Place): Promise<void> {
  if (to.file === null || existsSync(to.file)) {
    const target = await openCopy(to)
    try {
      await target.beginRead()
      await requireEmpty(target, await target.tables())
      if ((await countPending(target, to)) === 0) return
    } finally {
      await target.close()
    }
  }
  if (to.file === null) await preparePostgresql(to.url, { usesStatements: false })
  else await prepareSqliteFile(to.file)
}

async function requireEmpty(target: CopyConnection, tables: readonly Table[]): Promise<void> {
  for (const table of tables) {
    const rows = await target.count(table)
    if (rows > 0) throw new DataError(`it is not empty. Table ${table.name} has ${rows} rows`)
  }
}

async function copyTables(
  source: CopyConnection,
  target: CopyConnection,
  tables: readonly Table[],
  progress: Progress,
): Promise<CopiedTable[]> {
  const existing = await during('target', async () => {
    const found = await target.tables()
    await target.beginWrite(found)
    // Another process may have written to the target in the meantime.
    await requireEmpty(target, found)
    return found
  })
  requireSameColumns(tables, existing)
  const ordered = existing.filter(({ name }) => tables.some((table) => table.name === name))
  const copied: CopiedTable[] = []
  for (const table of ordered) copied.push(await copyTable(source, target, table, progress))
  await during('target', () => target.commit())
  return copied
}

function requireSameColumns(source: readonly Table[], target: readonly Table[]): void {
  const described = (table: Table | undefined) => table?.columns.map(({ name, kind }) => `${name} ${kind}`).join(', ')
  for (const table of source) {
    const other = target.find(({ name }) => name === table.name)
    if (described(other) !== described(table))
      throw new DataError(`Table ${table.name} has other columns in the target than in the source.`)
  }
}

async function copyTable(
  source: CopyConnection,
  target: CopyConnection,
  table: Table,
  progress: Progress,
): Promise<CopiedTable> {
  const [read, written] = [new Checksum(), new Checksum()]
  const total = await during('source', () => source.count(table))
  const rows = source.rows(table, batch)[Symbol.asyncIterator]()
  for (;;) {
    const next = await during('source', () => rows.next())
    if (next.done) break
    read.add(next.value)
    await during('target', () => target.insert(table, next.value))
    await progress(table.name, read.rows, total)
  }
  const lastId = await during('source', () => source.lastId(table))
  await during('target', async () => {
    if (lastId !== null) await target.setLastId(table, lastId)
    for await (const found of target.rows(table, batch)) written.add(found)
  })
  if (read.rows !== total || read.rows !== written.rows || read.text !== written.text) {
    throw new DataError(
      `Table ${table.name} differs after the copy: ${read.rows} rows in the source, ${written.rows} in the target.`,
    )
  }
  return { table: table.name, rows: read.rows, checksum: read.text }
}
