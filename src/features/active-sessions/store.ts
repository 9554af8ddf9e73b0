import type { Database, Tx } from '../../database/database.ts'
import { endDevice } from '../../login/end-sessions.ts'
import type { SessionListener } from '../../login/session-listener.ts'
import { wireDate } from '../../users/wire-date.ts'

/** A session as its user sees it. `id` is the public id and grants no access. */
export interface ListedSession {
  id: string
  ip_address: string | null
  user_agent: string | null
  created_at: string
  last_seen_at: string
  current: boolean
}

/** Returns the user's live sessions, the most recent first. */
export async function listSessions(
  { prisma }: Database,
  userId: number,
  { current, seenAfter, createdAfter }: { current: string; seenAfter: Date; createdAfter: Date },
): Promise<ListedSession[]> {
  const rows = await prisma.session.findMany({
    where: { userId: BigInt(userId), lastSeenAt: { gt: seenAfter }, createdAt: { gt: createdAfter } },
    orderBy: [{ lastSeenAt: 'desc' }, { createdAt: 'desc' }],
    select: { publicId: true, ipAddress: true, userAgent: true, createdAt: true, lastSeenAt: true },
  })
  return rows.map((row) => ({
    id: row.publicId,
    ip_address: row.ipAddress,
    user_agent: row.userAgent,
    created_at: wireDate(row.createdAt),
    last_seen_at: wireDate(row.lastSeenAt),
    current: row.publicId === current,
  }))
}

/** Ends a session of the user with its remembered device and everything that depends on it; false for an unknown id. */
export async function endSession(
  follower: SessionListener,
  tx: Tx,
  userId: number,
  publicId: string,
): Promise<boolean> {
  const owner = BigInt(userId)
  const row = await tx.session.findFirst({ where: { publicId, userId: owner }, select: { rememberTokenId: true } })
  if (!row) return false
  const ended = row.rememberTokenId === null ? [] : await endDevice(tx, owner, row.rememberTokenId)
  const { count } = await tx.session.deleteMany({ where: { publicId, userId: owner } })
  await follower.ended(tx, { publicIds: [publicId, ...ended] })
  return count > 0 || row.rememberTokenId !== null
}
