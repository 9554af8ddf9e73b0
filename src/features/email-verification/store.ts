import type { Database } from '../../plugins/database/database.ts'
import { type Origin, recordEvent } from '../../users/events.ts'
import type { User } from '../../users/user.ts'
import { markVerified } from '../../users/users.ts'

/** Marks the user's address as verified and records it; nothing happens the second time. */
export function verifyAddress(database: Database, user: User, origin: Origin): Promise<void> {
  return database.transaction(async (tx) => {
    const isNew = await markVerified(tx, user.id, user.email, origin.now)
    if (isNew) await recordEvent(tx, origin, { type: 'email_verified', userId: user.id })
  })
}
