import type { Config } from '../../platform/config/schema.ts'
import { deleteOutdated } from '../../platform/database/batches.ts'
import type { Database } from '../../platform/database/database.ts'

/** Deletes expired sessions, remember tokens, limit counters and undo links of email changes. */
export async function pruneAccess(database: Database, { session }: Config, now: number): Promise<void> {
  const ago = (age: number) => new Date(Math.max(0, now - age))
  await deleteOutdated(database, { table: 'sessions', date: 'last_seen_at', before: ago(session.lifetime) })
  // Two statements, because no index covers both conditions.
  await deleteOutdated(database, { table: 'sessions', date: 'created_at', before: ago(session.absolute_lifetime) })
  await deleteOutdated(database, { table: 'remember_tokens', date: 'expires_at', before: ago(0) })
  await deleteOutdated(database, {
    table: 'login_limits',
    key: 'key',
    date: 'resets_at',
    before: now,
    also: 'blocked_until',
  })
  await deleteOutdated(database, { table: 'email_changes', date: 'expires_at', before: ago(0) })
}
