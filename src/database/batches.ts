import { setTimeout as sleep } from 'node:timers/promises'

/** Rows per statement, so that it holds locks, and on SQLite the process, only briefly. */
const batch = 500

/** Maximum pause after a batch in milliseconds. */
const maxPause = 1_000

/**
 * Repeats work on a number of rows until a batch is not full; returns the total. After each batch it pauses for as long as
 * the batch took, so that pruning leaves half of the time to requests, however many rows there are.
 */
export async function inBatches(work: (batch: number) => Promise<number>): Promise<number> {
  let total = 0
  for (;;) {
    const begin = performance.now()
    const done = await work(batch)
    total += done
    if (done < batch) return total
    await sleep(Math.min(performance.now() - begin, maxPause))
  }
}
