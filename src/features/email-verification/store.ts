import { AddressHeld, applyPendingEmail } from '../../identity/email-change.ts'
import { type EventContext, recordEvent } from '../../identity/events.ts'
import type { User } from '../../identity/user.ts'
import { markVerified } from '../../identity/users.ts'
import type { Database, Tx } from '../../platform/database/database.ts'
import { isUniqueViolation } from '../../platform/database/unique.ts'

/** Marks the address as verified and records the event once. */
export function verifyAddress(database: Database, user: User, origin: EventContext): Promise<void> {
  return database.transaction(async (tx) => {
    const isNew = await markVerified(tx, user.id, user.email, origin.now)
    if (isNew) await recordEvent(tx, origin, { type: 'email_verified', userId: user.id })
  })
}

interface ApplySteps {
  /** Locks the user. */
  lock: (tx: Tx) => Promise<void>
  notifyOld: (tx: Tx, changeId: bigint, newEmail: string) => Promise<void>
}

/** Applies the pending address as verified, and records the event. */
export async function applyAddress(
  database: Database,
  user: User,
  origin: EventContext,
  { lock, notifyOld }: ApplySteps,
): Promise<'applied' | 'taken' | 'done' | 'overtaken'> {
  try {
    return await database.transaction(async (tx) => {
      await lock(tx)
      const applied = await applyPendingEmail(tx, user, origin.now)
      if (applied.outcome !== 'applied') return applied.outcome
      for (const type of ['email_changed', 'email_verified'] as const) {
        await recordEvent(tx, origin, { type, userId: user.id })
      }
      await notifyOld(tx, applied.changeId, applied.user.email)
      return 'applied'
    })
  } catch (error) {
    if (isUniqueViolation(error) || error instanceof AddressHeld) return 'taken'
    throw error
  }
}
