import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from './database.ts'

/** Rows per statement, so that it holds locks only briefly. On SQLite, the process does nothing else meanwhile. */
const sizes = { postgresql: 500, sqlite: 50 } as const

/** Maximum pause after a batch in milliseconds. */
const maxPause = 1_000

/**
 * Repeats work on a number of rows until a batch is not full or the process stops; returns the total. After each batch it
 * pauses for as long as the batch took, so that pruning leaves half of the time to requests, however many rows there are.
 *
 * The rows need the order of an index: without `ORDER BY`, PostgreSQL may read the whole table to find the first ones.
 */
export async function inBatches(
  { engine, closing }: Pick<Database, 'engine' | 'closing'>,
  work: (batch: number) => Promise<number>,
): Promise<number> {
  const batch = sizes[engine]
  let total = 0
  for (;;) {
    const begin = performance.now()
    const done = await work(batch)
    total += done
    if (done < batch || closing?.aborted) return total
    await sleep(Math.min(performance.now() - begin, maxPause))
  }
}
