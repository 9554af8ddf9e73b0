import type { Config } from '../config/schema.ts'
import { inBatches } from '../database/batches.ts'
import type { Database } from '../database/database.ts'

/**
 * Deletes expired sessions, remember tokens, failure counters and undo links, and events past their retention.
 */
export async function pruneEnded(database: Database, { session, audit }: Config, now: number): Promise<void> {
  const { prisma } = database
  const ago = (age: number) => new Date(Math.max(0, now - age))
  const idle = ago(session.lifetime)
  const old = ago(session.absolute_lifetime)
  const at = BigInt(now)
  await inBatches(
    database,
    (batch) => prisma.$executeRaw`DELETE FROM sessions WHERE id IN
      (SELECT id FROM sessions WHERE last_seen_at < ${idle} ORDER BY last_seen_at LIMIT ${batch})`,
  )
  // A separate statement, because no index serves both conditions.
  await inBatches(
    database,
    (batch) => prisma.$executeRaw`DELETE FROM sessions WHERE id IN
      (SELECT id FROM sessions WHERE created_at < ${old} ORDER BY created_at LIMIT ${batch})`,
  )
  await inBatches(
    database,
    (batch) => prisma.$executeRaw`DELETE FROM remember_tokens WHERE id IN
      (SELECT id FROM remember_tokens WHERE expires_at < ${ago(0)} ORDER BY expires_at LIMIT ${batch})`,
  )
  await inBatches(
    database,
    (batch) => prisma.$executeRaw`DELETE FROM login_limits WHERE key IN
      (SELECT key FROM login_limits WHERE resets_at < ${at} AND blocked_until < ${at} ORDER BY resets_at LIMIT ${batch})`,
  )
  await inBatches(
    database,
    (batch) => prisma.$executeRaw`DELETE FROM email_changes WHERE id IN
      (SELECT id FROM email_changes WHERE expires_at < ${ago(0)} ORDER BY expires_at LIMIT ${batch})`,
  )
  await inBatches(
    database,
    (batch) => prisma.$executeRaw`DELETE FROM events WHERE id IN
      (SELECT id FROM events WHERE created_at < ${ago(audit.retention)} ORDER BY created_at LIMIT ${batch})`,
  )
}
