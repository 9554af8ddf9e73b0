import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from './database.ts'
import { textFor } from './statements.ts'

/**
 * Rows per statement. Larger statements need less time per row, but each keeps requests waiting for longer: with 500 rows,
 * the 99th percentile of token checks beside them triples.
 */
const batchSize = 25

/** Maximum pause after a batch in milliseconds. */
const maxPause = 1_000

/**
 * Repeats work on a number of rows until a batch is not full or the process stops; returns the total. After each batch it
 * pauses for as long as the batch took, so that pruning leaves half of the time to requests, however many rows there are.
 *
 * The statement must order the rows by an index. Without `ORDER BY`, PostgreSQL may read the whole table to find them.
 */
export async function inBatches(
  { closing }: Pick<Database, 'closing'>,
  work: (batch: number) => Promise<number>,
): Promise<number> {
  let total = 0
  for (;;) {
    const begin = performance.now()
    const done = await work(batchSize)
    total += done
    if (done < batchSize || closing?.aborted) return total
    await sleep(Math.min(performance.now() - begin, maxPause))
  }
}

/** Rows to delete: those whose date is before a time. An index on the date must exist. */
export interface Outdated {
  table: string
  /** Default: `id`. */
  key?: string
  date: string
  /** Exclusive; a number for columns in Unix milliseconds. */
  before: Date | number
  /** Another column that must be before the same time. */
  also?: string
}

/**
 * Deletes outdated rows in batches, the oldest first; returns the count. Skips rows that another transaction has locked.
 *
 * Each batch begins at the last date of the one before. PostgreSQL keeps deleted rows in the index until it vacuums the table,
 * and a search from the beginning would read all of them again.
 */
export async function deleteOutdated(
  database: Database,
  { table, key = 'id', date, before, also }: Outdated,
): Promise<number> {
  const where = [date, ...(also ? [also] : [])].map((column) => `${column} < $1`).join(' AND ')
  // After locking a row, PostgreSQL checks the condition again, and keeps a row that was just used, such as a session.
  const lock = database.engine === 'postgresql' ? ' FOR UPDATE SKIP LOCKED' : ''
  const text = `DELETE FROM ${table} WHERE (${key}) IN
    (SELECT ${key} FROM ${table} WHERE ${date} >= $2 AND ${where} ORDER BY ${date} LIMIT $3${lock}) RETURNING ${date} AS at`
  const [end, beginning] = typeof before === 'number' ? [BigInt(before), 0n] : [before, new Date(0)]
  let from: bigint | Date = beginning
  return inBatches(database, async (batch) => {
    const deleted = await database.prisma.$queryRawUnsafe<{ at: bigint | Date }[]>(
      textFor(database, text),
      end,
      from,
      batch,
    )
    for (const { at } of deleted) if (at > from) from = at
    return deleted.length
  })
}
