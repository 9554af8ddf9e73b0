import type { Database, Tx } from '../platform/database/database.ts'
import { type Acceptance, withAttributes } from './attributes.ts'
import { type EventContext, recordEvent } from './events.ts'
import { lockUser } from './lock.ts'
import type { User } from './user.ts'
import { findUserById } from './users.ts'

/** Maximum number of versions that svc keeps for each user: the latest. */
const maxVersions = 50

/** The accepted versions with another one. The time of a version that the user accepted before stays. */
export function withAcceptance(before: readonly Acceptance[], version: string, now: number): readonly Acceptance[] {
  if (before.some((one) => one.version === version)) return before
  return [...before, { version, accepted_at: new Date(now).toISOString() }].slice(-maxVersions)
}

/** Records that a user accepted a version of the terms. Locks the user. */
export async function recordAcceptance(
  database: Pick<Database, 'engine'>,
  tx: Tx,
  origin: EventContext,
  { userId, version }: { userId: number; version: string },
): Promise<User | null> {
  await lockUser(database, tx, userId)
  const user = (await findUserById({ prisma: tx }, userId))?.user
  if (!user) return null
  const before = user.terms ?? []
  const terms = withAcceptance(before, version, origin.now)
  if (terms === before) return user
  await tx.user.update({ where: { id: BigInt(userId) }, data: { attributes: withAttributes(user, { terms }) } })
  await recordEvent(tx, origin, { type: 'terms_accepted', userId, data: { version } })
  return { ...user, terms }
}
