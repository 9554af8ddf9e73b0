import { clearPassword } from '../../identity/users.ts'
import type { Database, Tx } from '../../platform/database/database.ts'

/** An address change that can be undone. */
export interface UndoableChange {
  id: bigint
  userId: number
  oldEmail: string
  newEmail: string
  createdAt: Date
}

/** Returns the change; null if it is unknown, undone or expired. */
export async function findChange({ prisma }: Database, id: bigint, now: number): Promise<UndoableChange | null> {
  const row = await prisma.emailChange.findFirst({ where: { id, expiresAt: { gt: new Date(now) } } })
  if (!row) return null
  const { oldEmail, newEmail, createdAt } = row
  return { id, userId: Number(row.userId), oldEmail, newEmail, createdAt }
}

/**
 * Restores the user's old address as verified, without a pending address or password. Also invalidates this and all
 * later changes, because their links went to untrusted addresses. Returns `used` if another request was first.
 */
export async function restoreAddress(
  tx: Tx,
  { id, userId, oldEmail }: UndoableChange,
  now: number,
): Promise<'restored' | 'taken' | 'used'> {
  const owner = BigInt(userId)
  if ((await tx.emailChange.deleteMany({ where: { id, expiresAt: { gt: new Date(now) } } })).count === 0) return 'used'
  await tx.emailChange.deleteMany({ where: { userId: owner, id: { gt: id } } })
  if ((await tx.user.count({ where: { email: oldEmail, id: { not: owner } } })) > 0) return 'taken'
  await clearPassword(tx, userId, now)
  const data = { email: oldEmail, emailVerifiedAt: new Date(now), pendingEmail: null }
  await tx.user.update({ where: { id: owner }, data })
  return 'restored'
}
