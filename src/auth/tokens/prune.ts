import type { Config } from '../../platform/config/schema.ts'
import { deleteOutdated } from '../../platform/database/batches.ts'
import type { Database } from '../../platform/database/database.ts'

/** Deletes API tokens that expired more than `after` ago, by their own date or the global age; returns the count. */
export async function pruneExpiredTokens(
  database: Database,
  { expiration }: Config,
  after: number,
  now: number,
): Promise<number> {
  const table = 'personal_access_tokens'
  // At least 0, because the database rejects the date that a huge `after` gives.
  const ago = (age: number) => new Date(Math.max(0, now - age))
  const expired = await deleteOutdated(database, { table, date: 'expires_at', before: ago(after) })
  if (expiration === null) return expired
  // Two statements, because no index covers both conditions.
  return expired + (await deleteOutdated(database, { table, date: 'created_at', before: ago(expiration + after) }))
}
