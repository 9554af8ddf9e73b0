import { resolve } from 'node:path'
import { requireReadable } from '../../../../platform/database/copy/require-readable.ts'
import { DataError } from '../../../../platform/database/copy/values.ts'
import type { ForeignSource } from './source.ts'

/** Opens a source in one snapshot. Throws a DataError if it cannot be used, without credentials. */
export async function openSource(url: string, password: string | null): Promise<ForeignSource> {
  const opened = await readable(async () => {
    if (url.startsWith('file:')) return openFile(resolve(url.slice('file:'.length)))
    if (!/^postgres(ql)?:/.test(url)) {
      const { openMariadbSource } = await import('./mariadb.ts')
      return openMariadbSource(url, password)
    }
    const { openPostgresqlSource } = await import('./postgresql.ts')
    return openPostgresqlSource(url)
  })
  return {
    columnsOf: (table) => readable(() => opened.columnsOf(table)),
    count: (table, where) => readable(() => opened.count(table, where)),
    page: (table, after, limit) => readable(() => opened.page(table, after, limit)),
    matching: (table, column, values) => readable(() => opened.matching(table, column, values)),
    close: () => opened.close().catch(() => undefined),
  }
}

async function openFile(file: string): Promise<ForeignSource> {
  requireReadable(file)
  const { openSqliteSource } = await import('./sqlite.ts')
  return openSqliteSource(file)
}

/** Runs an operation on the source. */
async function readable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof DataError) throw error
    const parts = error instanceof AggregateError ? error.errors : [error]
    const reason = parts.map(messageOf).join(', ')
    throw new DataError(`The source database cannot be read: ${reason}${/[.!?]$/.test(reason) ? '' : '.'}`, {
      cause: error,
    })
  }
}

/** The client of MariaDB adds the statement to the message. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'sqlMessage' in error && typeof error.sqlMessage === 'string' ? error.sqlMessage : error.message
}
