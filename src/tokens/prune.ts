import type { Config } from '../config/schema.ts'
import { inBatches } from '../database/batches.ts'
import type { Database } from '../database/database.ts'
import { deleteBefore } from './store.ts'

/** Deletes API tokens that expired more than `after` ago, by their own date or the global age; returns the count. */
export async function pruneExpiredTokens(db: Database, config: Config, after: number, now: number): Promise<number> {
  const { expiration } = config
  // Keeps the date valid for a database, however large `after` is.
  const ago = (age: number) => new Date(Math.max(0, now - age))
  const expired = await inBatches(db, (batch) => deleteBefore(db, 'expires_at', ago(after), batch))
  if (expiration === null) return expired
  // A separate statement, because no index serves both conditions.
  return expired + (await inBatches(db, (batch) => deleteBefore(db, 'created_at', ago(expiration + after), batch)))
}
