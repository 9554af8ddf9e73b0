import type { CurrentConfig } from '../config/current.ts'
import type { Config } from '../config/schema.ts'
import { isPassword } from '../crypto/password.ts'
import type { Database, Tx } from '../database/database.ts'
import { lockUser } from './lock.ts'

/** A way to sign in without a password. */
export interface WayIn {
  /** Tests whether the user can sign in this way. */
  isOpen(tx: Tx, config: Config, userId: number): Promise<boolean>
  /** Removes it from the account; with `since`, only what was added from then on. */
  remove(tx: Tx, userId: number, since?: Date): Promise<void>
}

interface Parts {
  database: Pick<Database, 'engine'>
  config: CurrentConfig
  features: readonly { wayIn?: WayIn }[]
}

/**
 * Locks the user; whether the account has a way to sign in. A transaction that removes one calls this after the removal,
 * and rolls back on false.
 */
export async function hasWayIn({ database, config, features }: Parts, tx: Tx, userId: number): Promise<boolean> {
  // One removal at a time: otherwise each of two could count on what the other removes.
  await lockUser(database, tx, userId)
  const user = await tx.user.findUnique({ where: { id: BigInt(userId) }, select: { password: true } })
  if (isPassword(user?.password ?? null)) return true
  for (const { wayIn } of features) if (await wayIn?.isOpen(tx, config.current(), userId)) return true
  return false
}
