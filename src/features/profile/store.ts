import { type AttributeChanges, withAttributes } from '../../identity/attributes.ts'
import { requestEmailChange } from '../../identity/email-change.ts'
import type { Fields } from '../../identity/fields.ts'
import type { User } from '../../identity/user.ts'
import { giveUsername } from '../../identity/username.ts'
import { findUserById } from '../../identity/users.ts'
import type { Database, Tx } from '../../platform/database/database.ts'
import { isUniqueViolation } from '../../platform/database/unique.ts'

/** Result of a profile change; `gone` if the user was deleted meanwhile. */
type ProfileOutcome = 'changed' | 'taken' | 'gone'

interface ProfileChange {
  userId: number
  name: string
  /** In its stored form; undefined to keep the current one. */
  username: string | undefined
  parts: AttributeChanges
  /** Returns the fields after the changes. Throws for an invalid one. */
  fields(before: Fields): Fields
  /** Normalised new address; null if unchanged. */
  email: string | null
  mode: 'verified' | 'immediate'
  now: number
}

interface ProfileSteps {
  /** Locks the user. */
  lock: (tx: Tx) => Promise<void>
  also: (tx: Tx, before: User, change: Awaited<ReturnType<typeof requestEmailChange>>) => Promise<void>
}

/** Changes a profile, with related changes in the same transaction. */
export async function updateProfile(
  database: Database,
  { userId, name, username, parts, fields, email, mode, now }: ProfileChange,
  { lock, also }: ProfileSteps,
): Promise<ProfileOutcome> {
  try {
    return await database.transaction(async (tx) => {
      await lock(tx)
      const found = await findUserById({ prisma: tx }, userId)
      if (!found) return 'gone'
      const { user } = found
      const data = {
        name,
        attributes: withAttributes(user, { ...parts, fields: fields(user.fields ?? {}) }),
        updatedAt: new Date(now),
      }
      await tx.user.update({ where: { id: BigInt(userId) }, data })
      if (username !== undefined) await giveUsername(tx, userId, username)
      const change = email === null ? null : await requestEmailChange(tx, user, { to: email, mode, now })
      await also(tx, user, change)
      return 'changed'
    })
  } catch (error) {
    if (isUniqueViolation(error)) return 'taken'
    throw error
  }
}
