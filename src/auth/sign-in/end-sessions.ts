import type { FastifyInstance } from 'fastify'
import { type EventContext, recordEvent, userRef } from '../../identity/events.ts'
import { lockActiveAccounts } from '../../identity/users.ts'
import type { Tx } from '../../platform/database/database.ts'
import type { Impersonation } from '../access/caller.ts'
import type { Visit } from '../access/visit.ts'

/** Deletes a remembered device and its sessions; returns their public ids. */
export async function endDevice(tx: Tx, userId: bigint, rememberTokenId: bigint): Promise<string[]> {
  await tx.rememberToken.deleteMany({ where: { id: rememberTokenId } })
  const where = { userId, rememberTokenId }
  const rows = await tx.session.findMany({ where, select: { publicId: true } })
  await tx.session.deleteMany({ where })
  return rows.map(({ publicId }) => publicId)
}

/** Sessions that ended with the request's own. */
interface Ended {
  /** Whether the row of the request's session still existed. */
  isOwn: boolean
  publicIds: string[]
  accounts: Awaited<ReturnType<typeof lockActiveAccounts>>
}

/** Deletes the session of the administrator too, and records the end. The user may have signed in as someone else meanwhile. */
async function endImpersonation(
  tx: Tx,
  origin: EventContext,
  { userId, impersonation }: { userId: number; impersonation: Impersonation },
): Promise<void> {
  await tx.session.deleteMany({ where: { publicId: impersonation.session } })
  await recordEvent(tx, { ...origin, actor: userRef(impersonation.by) }, { type: 'impersonation_ended', userId })
}

/**
 * Ends the request's session, its remembered device, and the device of its cookie. Works by row, so that only what was
 * read can end. Locks their users and those in `lockToo` first.
 */
export async function endSession(tx: Tx, visit: Visit, lockToo: readonly number[] = []): Promise<Ended> {
  const { database, remember } = visit.app
  const { row, stale } = visit.session?.state ?? {}
  const presented = await remember.presentedDevice(tx, visit)
  const owners = [row?.user?.id, presented?.userId].filter((id) => id !== undefined)
  const accounts = await lockActiveAccounts(database, tx, [...lockToo, ...owners])
  if (stale) await tx.session.deleteMany({ where: { publicId: stale } })
  const ended: Ended = { isOwn: false, publicIds: [], accounts }
  if (row) {
    const { publicId, user } = row
    // Uses the public id and the current device, because a concurrent request may have renewed the id and the device.
    const [deleted] = await tx.$queryRaw<{ device: bigint | number | null }[]>`
      DELETE FROM sessions WHERE public_id = ${publicId} RETURNING remember_token_id AS device`
    ended.isOwn = deleted !== undefined
    if (user) ended.publicIds.push(publicId)
    const device = deleted ? deleted.device : row.rememberTokenId
    const { impersonation } = visit.session
    if (deleted && user && impersonation) await endImpersonation(tx, visit.origin, { userId: user.id, impersonation })
    if (user && device !== null) ended.publicIds.push(...(await endDevice(tx, BigInt(user.id), BigInt(device))))
  }
  if (presented) ended.publicIds.push(...(await endDevice(tx, BigInt(presented.userId), presented.id)))
  return ended
}

/**
 * Ends the user's sessions and remembered devices, optionally except the request's own; returns the number of sessions.
 * Requires the user lock.
 */
export async function endSessionsOf(
  { sessionListener }: Pick<FastifyInstance, 'sessionListener'>,
  tx: Tx,
  userId: number,
  keep?: Visit,
): Promise<number> {
  const row = keep?.session?.state?.row
  const owner = { userId: BigInt(userId) }
  await tx.rememberToken.deleteMany({
    where: { ...owner, ...(row?.rememberTokenId ? { id: { not: row.rememberTokenId } } : {}) },
  })
  const { count } = await tx.session.deleteMany({
    where: { ...owner, ...(row ? { publicId: { not: row.publicId } } : {}) },
  })
  await sessionListener.ended(tx, { userId, except: row?.publicId ?? null })
  return count
}
