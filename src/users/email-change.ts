import type { FastifyInstance } from 'fastify'
import { constantTimeEqual } from '../crypto/hash.ts'
import { deriveKeys } from '../crypto/keys.ts'
import type { Tx } from '../database/database.ts'
import { ownLink } from '../pages/links.ts'
import type { User } from './user.ts'

/** How long a change of address can be undone, in milliseconds. */
const undoTime = 7 * 86_400_000

/** A change of address, and when it can no longer be undone. */
interface Change {
  from: string
  to: string
  now: number
}

/** Whether another user may get this address back by undoing a change. */
export async function isHeldForUndo(tx: Tx, email: string, userId: number | null, now: number): Promise<boolean> {
  const others = userId === null ? {} : { userId: { not: BigInt(userId) } }
  const applied = { oldEmail: email, appliedAt: { not: null }, expiresAt: { gt: new Date(now) } }
  return (await tx.emailChange.count({ where: { ...applied, ...others } })) > 0
}

/** Notes that a change waits for its verification, in place of one that waited before; answers its id. */
async function notePendingChange(tx: Tx, userId: number, { from, to, now }: Change): Promise<bigint> {
  const waiting = await tx.emailChange.findFirst({ where: { userId: BigInt(userId), appliedAt: null } })
  const facts = { oldEmail: from, newEmail: to, expiresAt: new Date(now + undoTime) }
  if (!waiting) {
    return (await tx.emailChange.create({ data: { userId: BigInt(userId), ...facts, createdAt: new Date(now) } })).id
  }
  await tx.emailChange.update({ where: { id: waiting.id }, data: facts })
  return waiting.id
}

/** Notes that a change took effect; answers its id. Its link stays the one that was mailed while it was pending. */
async function noteAppliedChange(tx: Tx, userId: number, change: Change): Promise<bigint> {
  const id = await notePendingChange(tx, userId, change)
  await tx.emailChange.update({ where: { id }, data: { appliedAt: new Date(change.now) } })
  return id
}

/** A change of address that was requested. */
interface Requested {
  /** Whether it took effect at once; else it waits for its verification. */
  isApplied: boolean
  /** The user after it. */
  user: User
  /** Null where it cannot be undone, because the old address was never verified. */
  changeId: bigint | null
}

/**
 * Changes the user's address, or notes it as pending in place of an earlier pending one. The caller has locked and read
 * the user in this transaction. Null when it is the user's address already; a unique clash breaks the transaction.
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
  await tx.passwordReset.deleteMany({ where: { userId: id } })
  const changeId = isProved ? await noteAppliedChange(tx, user.id, { from, to, now }) : null
  return { isApplied: true, user: { ...rest, email: to, email_verified_at: null }, changeId }
}

/** Makes every undo link of the user invalid. */
export async function forgetEmailChanges(tx: Tx, userId: number): Promise<void> {
  await tx.emailChange.deleteMany({ where: { userId: BigInt(userId) } })
}

/** What applying a pending address came to: `overtaken` when it was replaced meanwhile, `done` when another request applied it. */
type Applied = { outcome: 'applied'; user: User; changeId: bigint } | { outcome: 'taken' | 'done' | 'overtaken' }

/** Makes the pending address the user's own. A unique clash breaks the transaction. */
export async function applyPendingEmail(tx: Tx, user: User, now: number): Promise<Applied> {
  const { id, email: from, pending_email: to } = user
  if (to === undefined) return { outcome: 'overtaken' }
  if (await isHeldForUndo(tx, to, id, now)) return { outcome: 'taken' }
  const date = new Date(now)
  const { count } = await tx.user.updateMany({
    where: { id: BigInt(id), email: from, pendingEmail: to },
    data: { email: to, pendingEmail: null, emailVerifiedAt: date, updatedAt: date },
  })
  // Of two requests with one link at once, the second finds the address in place.
  if (count === 0)
    return { outcome: (await tx.user.count({ where: { id: BigInt(id), email: to } })) > 0 ? 'done' : 'overtaken' }
  await tx.passwordReset.deleteMany({ where: { userId: BigInt(id) } })
  const changeId = await noteAppliedChange(tx, id, { from, to, now })
  const { pending_email: _, ...rest } = user
  return { outcome: 'applied', changeId, user: { ...rest, email: to, email_verified_at: date.toISOString() } }
}

const keysOf = (app: Pick<FastifyInstance, 'config'>) => deriveKeys(app.config.current().app.secret, 'undo-email')

/** What an undo link stands for. */
interface Undoable {
  id: bigint
  oldEmail: string
}

const signedText = ({ id, oldEmail }: Undoable): string => `${id}\0${oldEmail}`

/** The link that undoes a change, for the mail to the old address. Its signature is not stored anywhere. */
export function undoLink(app: Pick<FastifyInstance, 'config'>, change: Undoable): string {
  const signature = keysOf(app)[0]?.sign(signedText(change)) ?? ''
  return ownLink(app.config.current(), `/email/undo/${change.id}/${signature}`)
}

/** Whether svc signed the undo link of this change. */
export const isUndoSignature = (app: Pick<FastifyInstance, 'config'>, change: Undoable, signature: string): boolean =>
  keysOf(app).some((key) => constantTimeEqual(key.sign(signedText(change)), signature))
