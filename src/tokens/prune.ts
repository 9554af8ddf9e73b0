import type { Config } from '../config/schema.ts'
import type { Database } from '../database/database.ts'
import { deleteExpired } from './store.ts'

/** Maximum number of rows per statement, so that pruning holds locks only briefly. */
const batch = 1_000

/** Deletes API tokens that expired more than `after` ago, by their own date or the global age; returns the count. */
export async function pruneExpiredTokens(db: Database, config: Config, after: number, now: number): Promise<number> {
  const { expiration } = config
  // Keeps the date valid for a database, however large `after` is.
  const ago = (age: number) => new Date(Math.max(0, now - age))
  const createdBefore = expiration === null ? null : ago(expiration + after)
  const limits = { expiredBefore: ago(after), createdBefore }
  let total = 0
  for (;;) {
    const deleted = await deleteExpired(db, limits, batch)
    total += deleted
    if (deleted < batch) return total
  }
}
