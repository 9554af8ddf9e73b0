import type { CurrentConfig } from '../platform/config/current.ts'
import type { Config } from '../platform/config/schema.ts'
import { isPassword } from '../platform/crypto/stored-password.ts'
import type { Database, Tx } from '../platform/database/database.ts'
import { lockUser } from './lock.ts'

/** A way to sign in without a password. */
export interface WayIn {
  /** Tests whether the user can sign in this way. */
  isOpen(tx: Tx, config: Config, userId: number): Promise<boolean>
  /** Removes it from the account. With `since`, removes only credentials that were added from then on. */
  remove(tx: Tx, userId: number, since?: Date): Promise<void>
}

interface Parts {
  database: Pick<Database, 'engine'>
  config: CurrentConfig
  features: readonly { wayIn?: WayIn }[]
}

/**
 * Locks the user and tests whether the account has a way to sign in. A transaction that removes a way calls this after the
 * removal, and rolls back if it returns false.
 */
export async function hasWayIn({ database, config, features }: Parts, tx: Tx, userId: number): Promise<boolean> {
  // Without the lock, two concurrent removals could each rely on the way that the other one removes.
  await lockUser(database, tx, userId)
  const user = await tx.user.findUnique({ where: { id: BigInt(userId) }, select: { password: true } })
  if (isPassword(user?.password ?? null)) return true
  for (const { wayIn } of features) if (await wayIn?.isOpen(tx, config.current(), userId)) return true
  return false
}
