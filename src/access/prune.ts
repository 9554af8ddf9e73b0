import type { Config } from '../config/schema.ts'
import type { Database } from '../plugins/database/database.ts'

/** Deletes sessions that idled out or grew too old, remember tokens and failure counters that ended, and events past their retention. */
export async function pruneEnded({ prisma }: Database, { session, audit }: Config, now: number): Promise<void> {
  const before = (age: number) => ({ lt: new Date(now - age) })
  await prisma.session.deleteMany({ where: { lastSeenAt: before(session.lifetime * 60_000) } })
  await prisma.session.deleteMany({ where: { createdAt: before(session.absolute_lifetime) } })
  await prisma.rememberToken.deleteMany({ where: { expiresAt: before(0) } })
  await prisma.loginLimit.deleteMany({ where: { resetsAt: { lt: BigInt(now) }, blockedUntil: { lt: BigInt(now) } } })
  await prisma.event.deleteMany({ where: { createdAt: before(audit.retention) } })
}
