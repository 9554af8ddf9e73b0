import type { Database, Tx } from '../../database/database.ts'
import { clearPassword } from '../../users/users.ts'

/** A change of address that can be undone. */
export interface UndoableChange {
  id: bigint
  userId: number
  oldEmail: string
  createdAt: Date
}

/** The change of this id; null when it is unknown, undone or too old. */
export async function findChange({ prisma }: Database, id: bigint, now: number): Promise<UndoableChange | null> {
  const row = await prisma.emailChange.findFirst({ where: { id, expiresAt: { gt: new Date(now) } } })
  return row && { id: row.id, userId: Number(row.userId), oldEmail: row.oldEmail, createdAt: row.createdAt }
}

/**
 * Gives the user the old address back, verified, without a pending one and without a password. Uses the change up, and
 * every later one: their links went to addresses that this one does not trust. `used` when another request was first.
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
