import type { Database, Tx } from '../../plugins/database/database.ts'
import { isUniqueViolation } from '../../plugins/database/unique.ts'
import { canonicalEmail, type User } from '../../users/user.ts'

/** What users may change of themselves. */
export interface Profile {
  name: string
  email: string
}

/** What became of a change of profile; `gone` when the user was deleted meanwhile. */
type ProfileOutcome = 'changed' | 'taken' | 'gone'

/**
 * Runs the change of a profile.
 * A change of address voids what the old one proved: its verification and a password reset that waits there.
 */
export async function updateProfile(
  database: Database,
  user: User,
  { name, email }: Profile,
  now: number,
  also: (tx: Tx, updated: User, isMoved: boolean) => Promise<void>,
): Promise<ProfileOutcome> {
  const address = canonicalEmail(email)
  const isMoved = address !== user.email
  const id = BigInt(user.id)
  try {
    return await database.transaction(async (tx) => {
      const moved = isMoved ? { email: address, emailVerifiedAt: null } : {}
      const { count } = await tx.user.updateMany({ where: { id }, data: { name, ...moved, updatedAt: new Date(now) } })
      if (count === 0) return 'gone'
      if (isMoved) await tx.passwordReset.deleteMany({ where: { userId: id } })
      await also(tx, { ...user, name, email: address }, isMoved)
      return 'changed'
    })
  } catch (error) {
    if (isUniqueViolation(error)) return 'taken'
    throw error
  }
}

/** Deletes the user; what refers to the row goes with it. False when another request was first. */
export async function deleteUser(tx: Tx, userId: number): Promise<boolean> {
  return (await tx.user.deleteMany({ where: { id: BigInt(userId) } })).count > 0
}
