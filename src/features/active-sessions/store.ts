import type { FastifyInstance } from 'fastify'
import { endDevice } from '../../auth/sign-in/end-sessions.ts'
import type { SessionListener } from '../../auth/sign-in/session-listener.ts'
import { wireDate } from '../../identity/wire-date.ts'
import type { CurrentConfig } from '../../platform/config/current.ts'
import type { Database, Tx } from '../../platform/database/database.ts'
import { maxRowId } from '../../platform/database/ids.ts'

/** Which sessions and devices a list shows. */
interface Shown {
  now: Date
  seenAfter: Date
  createdAfter: Date
  /** Whether svc checks the bindings of sessions. */
  binds: boolean
}

/** Returns what counts as live now. */
export function shownNow({ config, clock }: Pick<FastifyInstance, 'config' | 'clock'>): Shown {
  return shownAt(config, clock.now())
}

/** The same at a time in Unix milliseconds. */
export function shownAt(config: CurrentConfig, now: number): Shown {
  const { lifetime, absolute_lifetime, bound } = config.current().session
  return {
    now: new Date(now),
    seenAfter: new Date(now - lifetime),
    createdAfter: new Date(now - absolute_lifetime),
    binds: bound !== 'off',
  }
}

/** A session as its user sees it. `id` is the public id and grants no access. */
export interface ListedSession {
  id: string
  ip_address: string | null
  user_agent: string | null
  created_at: string
  last_seen_at: string
  current: boolean
  /** Whether an administrator acts as the user in it. */
  impersonated: boolean
  /** Whether copies of its cookies do not work on another device. */
  bound: boolean
}

/** Maximum number of entries of a list. Every sign-in adds one. */
const maxListed = 1_000

/** Returns the user's live sessions, the most recent first. */
export async function listSessions(
  { prisma }: Database,
  userId: number,
  { current, now, seenAfter, createdAfter, binds }: Shown & { current: string },
): Promise<ListedSession[]> {
  const rows = await prisma.session.findMany({
    where: { userId: BigInt(userId), lastSeenAt: { gt: seenAfter }, createdAt: { gt: createdAfter } },
    orderBy: [{ lastSeenAt: 'desc' }, { createdAt: 'desc' }],
    take: maxListed,
    select: {
      ...{ publicId: true, ipAddress: true, userAgent: true, createdAt: true, lastSeenAt: true },
      ...{ data: true, bindingId: true },
    },
  })
  const listed = rows.flatMap(({ data, ...row }) => {
    const { impersonation } = JSON.parse(data) as { impersonation?: { until: number } }
    if (impersonation && now.getTime() >= impersonation.until) return []
    return { ...row, impersonated: impersonation !== undefined }
  })
  return listed.map((row) => ({
    id: row.publicId,
    // Users do not see the address and the browser of an administrator.
    ip_address: row.impersonated ? null : row.ipAddress,
    user_agent: row.impersonated ? null : row.userAgent,
    created_at: wireDate(row.createdAt),
    last_seen_at: wireDate(row.lastSeenAt),
    current: row.publicId === current,
    impersonated: row.impersonated,
    bound: binds && row.bindingId !== null,
  }))
}

/** A remembered device as its user sees it. */
export interface ListedDevice {
  id: string
  ip_address: string | null
  user_agent: string | null
  last_seen_at: string
  /** Whether copies of its cookies do not work on another device. */
  bound: boolean
}

/** Returns the user's remembered devices without a live session, the most recent first. */
export async function listRemembered(
  { prisma }: Database,
  userId: number,
  { now, seenAfter, createdAfter, binds }: Shown,
): Promise<ListedDevice[]> {
  const owner = { userId: BigInt(userId) }
  const rows = await prisma.rememberToken.findMany({
    where: { ...owner, expiresAt: { gt: now } },
    orderBy: { lastUsedAt: 'desc' },
    take: maxListed,
    select: { id: true, ipAddress: true, userAgent: true, lastUsedAt: true, bindingId: true },
  })
  const inUse = await prisma.session.findMany({
    where: {
      ...owner,
      rememberTokenId: { in: rows.map(({ id }) => id) },
      lastSeenAt: { gt: seenAfter },
      createdAt: { gt: createdAfter },
    },
    select: { rememberTokenId: true },
    distinct: ['rememberTokenId'],
  })
  const live = new Set(inUse.map((row) => row.rememberTokenId))
  return rows
    .filter(({ id }) => !live.has(id))
    .map((row) => ({
      id: String(row.id),
      ip_address: row.ipAddress,
      user_agent: row.userAgent,
      last_seen_at: wireDate(row.lastUsedAt),
      bound: binds && row.bindingId !== null,
    }))
}

/** Ends a remembered device of the user with its sessions; false for an unknown id. */
export async function endRemembered(listener: SessionListener, tx: Tx, userId: number, id: bigint): Promise<boolean> {
  const owner = BigInt(userId)
  const row = await tx.rememberToken.findFirst({ where: { id, userId: owner }, select: { id: true } })
  if (!row) return false
  await listener.ended(tx, { publicIds: await endDevice(tx, owner, row.id) })
  return true
}

/** Ends a session of the user with its remembered device and everything that depends on it; false for an unknown id. */
export async function endSession(
  listener: SessionListener,
  tx: Tx,
  userId: number,
  publicId: string,
): Promise<boolean> {
  const owner = BigInt(userId)
  const row = await tx.session.findFirst({ where: { publicId, userId: owner }, select: { rememberTokenId: true } })
  if (!row) return false
  const ended = row.rememberTokenId === null ? [] : await endDevice(tx, owner, row.rememberTokenId)
  const { count } = await tx.session.deleteMany({ where: { publicId, userId: owner } })
  await listener.ended(tx, { publicIds: [publicId, ...ended] })
  return count > 0 || row.rememberTokenId !== null
}

/** Returns the user of a session (public id) or of a remembered device (number); null for an unknown id. */
export async function ownerOf({ prisma }: Database, id: string): Promise<number | null> {
  const select = { userId: true }
  const session = await prisma.session.findUnique({ where: { publicId: id }, select })
  if (session?.userId) return Number(session.userId)
  if (!/^\d{1,19}$/.test(id) || BigInt(id) > maxRowId) return null
  const device = await prisma.rememberToken.findUnique({ where: { id: BigInt(id) }, select })
  return device && Number(device.userId)
}
