import type { Config } from '../config/schema.ts'
import { isPassword } from '../crypto/password.ts'
import type { Database, Tx } from '../database/database.ts'
import { lockUser } from './lock.ts'

/**
 * Locks the user; whether the account has a way to sign in: a password, a passkey if they are enabled, or a linked identity
 * at a configured provider. A transaction that removes one of them calls this after the removal, and rolls back on false.
 */
export async function hasWayIn(
  database: Pick<Database, 'engine'>,
  tx: Tx,
  { social, passkeys }: Pick<Config, 'social' | 'passkeys'>,
  userId: number,
): Promise<boolean> {
  // One removal at a time: otherwise each of two could count on what the other removes.
  await lockUser(database, tx, userId)
  const id = BigInt(userId)
  const user = await tx.user.findUnique({ where: { id }, select: { password: true } })
  if (isPassword(user?.password ?? null)) return true
  if (passkeys.enabled && (await tx.passkey.count({ where: { userId: id } })) > 0) return true
  return (await tx.socialAccount.count({ where: { userId: id, provider: { in: Object.keys(social) } } })) > 0
}
