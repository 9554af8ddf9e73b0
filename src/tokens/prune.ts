import type { Config } from '../config/schema.ts'
import type { Database } from '../database/database.ts'
import { deleteExpired } from './store.ts'

const hour = 3_600_000

/** Maximum number of rows per statement, so that pruning holds locks only briefly. */
const batch = 1_000

/** Deletes API tokens that expired more than `hours` ago, by their own date or the global age; returns the count. */
export async function pruneExpiredTokens(db: Database, config: Config, hours: number, now: number): Promise<number> {
  const { expiration } = config
  // Keeps the date valid for a database, however large `hours` is.
  const ago = (age: number) => new Date(Math.max(0, now - age))
  const createdBefore = expiration === null ? null : ago(expiration * 60_000 + hours * hour)
  const limits = { expiredBefore: ago(hours * hour), createdBefore }
  let total = 0
  for (;;) {
    const deleted = await deleteExpired(db, limits, batch)
    total += deleted
    if (deleted < batch) return total
  }
}
