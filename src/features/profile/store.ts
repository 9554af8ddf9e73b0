import type { Database, Tx } from '../../plugins/database/database.ts'
import { isUniqueViolation } from '../../plugins/database/unique.ts'
import { canonicalEmail, type User, userOf } from '../../users/user.ts'

/** What users may change of themselves. */
export interface Profile {
  name: string
  email: string
}

/**
 * Runs the change of a profile; null when the address is another user's.
 * A change of address voids what the old one proved: its verification and a password reset that waits there.
 */
export async function updateProfile(
  database: Database,
  user: User,
  { name, email }: Profile,
  now: number,
  also: (tx: Tx, updated: User, isMoved: boolean) => Promise<void>,
): Promise<User | null> {
  const address = canonicalEmail(email)
  const isMoved = address !== user.email
  const id = BigInt(user.id)
  try {
    return await database.transaction(async (tx) => {
      const moved = isMoved ? { email: address, emailVerifiedAt: null } : {}
      const row = await tx.user.update({ where: { id }, data: { name, ...moved, updatedAt: new Date(now) } })
      if (isMoved) await tx.passwordReset.deleteMany({ where: { userId: id } })
      const updated = userOf(row)
      await also(tx, updated, isMoved)
      return updated
    })
  } catch (error) {
    if (isUniqueViolation(error)) return null
    throw error
  }
}

/** Deletes the user; what refers to the row goes with it. */
export async function deleteUser(tx: Tx, userId: number): Promise<void> {
  await tx.user.deleteMany({ where: { id: BigInt(userId) } })
}
