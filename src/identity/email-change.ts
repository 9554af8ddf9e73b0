import type { FastifyInstance } from 'fastify'
import { ownLink } from '../pages/links.ts'
import { constantTimeEqual } from '../platform/crypto/hash.ts'
import { deriveKeys } from '../platform/crypto/keys.ts'
import type { Database, Tx } from '../platform/database/database.ts'
import type { User } from './user.ts'
import { wireDate } from './wire-date.ts'

/** How long an address change can be undone, in milliseconds. */
const undoTime = 7 * 86_400_000

/** An address change and the end of its undo period. */
interface Change {
  from: string
  to: string
  now: number
}

/** Thrown to roll back: another user gave the address up meanwhile, and can still get it back. */
export class AddressHeld extends Error {}

/**
 * Tests whether another user can still undo a change and get this address back. Test it after the statement that takes the
 * address, too: that statement waits for a transaction that gives the address up.
 */
export async function isHeldForUndo(tx: Tx, email: string, userId: number | null, now: number): Promise<boolean> {
  const others = userId === null ? {} : { userId: { not: BigInt(userId) } }
  const applied = { oldEmail: email, appliedAt: { not: null }, expiresAt: { gt: new Date(now) } }
  return (await tx.emailChange.count({ where: { ...applied, ...others } })) > 0
}

/** Records a pending change in place of an earlier one; returns its id. */
async function notePendingChange(tx: Tx, userId: number, { from, to, now }: Change): Promise<bigint> {
  const waiting = await tx.emailChange.findFirst({ where: { userId: BigInt(userId), appliedAt: null } })
  const facts = { oldEmail: from, newEmail: to, expiresAt: new Date(now + undoTime) }
  if (!waiting) {
    return (await tx.emailChange.create({ data: { userId: BigInt(userId), ...facts, createdAt: new Date(now) } })).id
  }
  await tx.emailChange.update({ where: { id: waiting.id }, data: facts })
  return waiting.id
}

/** Records an applied change; returns its id. The undo link mailed while it was pending stays valid. */
async function noteAppliedChange(tx: Tx, userId: number, change: Change): Promise<bigint> {
  const id = await notePendingChange(tx, userId, change)
  await tx.emailChange.update({ where: { id }, data: { appliedAt: new Date(change.now) } })
  return id
}

/** A requested address change. */
interface Requested {
  /** Whether it took effect immediately; otherwise it waits for verification. */
  isApplied: boolean
  /** The changed user. */
  user: User
  /** Null if it cannot be undone, because the old address was never verified. */
  changeId: bigint | null
}

/**
 * Changes the user's address, or stores it as pending in place of an earlier one. The caller has locked and read the
 * user in this transaction. Returns null if the address is unchanged. After `taken` or a unique violation, the caller rolls
 * the transaction back.
 */
export async function requestEmailChange(
  tx: Tx,
  user: User,
  { to, mode, now }: { to: string; mode: 'verified' | 'immediate'; now: number },
): Promise<Requested | 'taken' | null> {
  const { pending_email: _, ...rest } = user
  const [id, from] = [BigInt(user.id), user.email]
  if (to === from || to === user.pending_email) return null
  if ((await tx.user.count({ where: { email: to } })) > 0) return 'taken'
  if (await isHeldForUndo(tx, to, user.id, now)) return 'taken'
  const isProved = user.email_verified_at !== null
  if (mode === 'verified' && isProved) {
    await tx.user.update({ where: { id }, data: { pendingEmail: to } })
    const changeId = await notePendingChange(tx, user.id, { from, to, now })
    return { isApplied: false, user: { ...user, pending_email: to }, changeId }
  }
  await tx.user.update({ where: { id }, data: { email: to, emailVerifiedAt: null, pendingEmail: null } })
  if (await isHeldForUndo(tx, to, user.id, now)) return 'taken'
  await tx.passwordReset.deleteMany({ where: { userId: id } })
  const changeId = isProved ? await noteAppliedChange(tx, user.id, { from, to, now }) : null
  return { isApplied: true, user: { ...rest, email: to, email_verified_at: null }, changeId }
}

/** Invalidates all undo links of the user. */
export async function forgetEmailChanges(tx: Tx, userId: number): Promise<void> {
  await tx.emailChange.deleteMany({ where: { userId: BigInt(userId) } })
}

/**
 * Result of applying a pending address: `overtaken` if it was replaced meanwhile, `done` if another request applied it.
 */
type Applied = { outcome: 'applied'; user: User; changeId: bigint } | { outcome: 'taken' | 'done' | 'overtaken' }

/** Applies the pending address. A unique violation or `AddressHeld` aborts the transaction. */
export async function applyPendingEmail(tx: Tx, user: User, now: number): Promise<Applied> {
  const { id, email: from, pending_email: to } = user
  if (to === undefined) return { outcome: 'overtaken' }
  if (await isHeldForUndo(tx, to, id, now)) return { outcome: 'taken' }
  const date = new Date(now)
  const { count } = await tx.user.updateMany({
    where: { id: BigInt(id), email: from, pendingEmail: to },
    data: { email: to, pendingEmail: null, emailVerifiedAt: date, updatedAt: date },
  })
  // A concurrent request with the same link already applied the address.
  if (count === 0)
    return { outcome: (await tx.user.count({ where: { id: BigInt(id), email: to } })) > 0 ? 'done' : 'overtaken' }
  if (await isHeldForUndo(tx, to, id, now)) throw new AddressHeld()
  await tx.passwordReset.deleteMany({ where: { userId: BigInt(id) } })
  const changeId = await noteAppliedChange(tx, id, { from, to, now })
  const { pending_email: _, ...rest } = user
  return { outcome: 'applied', changeId, user: { ...rest, email: to, email_verified_at: date.toISOString() } }
}

const keysOf = (app: Pick<FastifyInstance, 'config'>) => deriveKeys(app.config.current().app.secret, 'undo-email')

/** The change that an undo link refers to. */
interface Undoable {
  id: bigint
  oldEmail: string
}

const signedText = ({ id, oldEmail }: Undoable): string => `${id}\0${oldEmail}`

/** Returns the undo link for the mail to the old address. Its signature is not stored. */
export function undoLink(app: Pick<FastifyInstance, 'config'>, change: Undoable): string {
  const signature = keysOf(app)[0]?.sign(signedText(change)) ?? ''
  return ownLink(app.config.current(), `/email/undo/${change.id}/${signature}`)
}

/** Tests the signature of an undo link. */
export const isUndoSignature = (app: Pick<FastifyInstance, 'config'>, change: Undoable, signature: string): boolean =>
  keysOf(app).some((key) => constantTimeEqual(key.sign(signedText(change)), signature))

/** The user's pending changes, and those that can be undone, oldest first. */
export async function listEmailChanges({ prisma }: Database, userId: number) {
  const rows = await prisma.emailChange.findMany({ where: { userId: BigInt(userId) }, orderBy: { id: 'asc' } })
  return rows.map((row) => ({
    old_email: row.oldEmail,
    new_email: row.newEmail,
    requested_at: wireDate(row.createdAt),
    applied_at: wireDate(row.appliedAt),
    expires_at: wireDate(row.expiresAt),
  }))
}
