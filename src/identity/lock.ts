import type { Database, Tx } from '../platform/database/database.ts'
import { arrayLiteral } from '../platform/database/statements.ts'
import { canonicalEmail } from './user.ts'
import { isUnchanged, lockActiveAccounts, type UserWithPassword } from './users.ts'

type Engine = Pick<Database, 'engine'>

/**
 * Locks the rows of these users until the transaction ends. A transaction that changes an account locks its user before any
 * other row. Because all transactions use this order, they do not deadlock. What a check finds after the lock stays true
 * until the commit.
 */
export async function lockUsers({ engine }: Engine, tx: Tx, userIds: readonly number[]): Promise<void> {
  // SQLite runs one writing transaction at a time.
  if (engine === 'sqlite' || userIds.length === 0) return
  const ids = arrayLiteral([...new Set(userIds)])
  await tx.$queryRaw`SELECT 1 FROM users WHERE id = ANY(CAST(${ids} AS BIGINT[])) ORDER BY id FOR NO KEY UPDATE`
}

/** Locks the row of one user until the transaction ends. */
export const lockUser = (database: Engine, tx: Tx, userId: number): Promise<void> => lockUsers(database, tx, [userId])

/**
 * Locks the row of the user with this email address until the transaction ends, so that one transaction at a time decides
 * about the account of an address.
 */
export async function lockUserByEmail({ engine }: Engine, tx: Tx, email: string): Promise<void> {
  if (engine === 'sqlite') return
  await tx.$queryRaw`SELECT 1 FROM users WHERE email = ${canonicalEmail(email)} FOR NO KEY UPDATE`
}

/**
 * Credential that must still be valid when a request writes: its session (id of the row; null without one), the account
 * whose sign-in was checked, or an API token (id).
 */
export type Credential = { session: string | null } | { account: UserWithPassword } | { token: bigint }

/**
 * Locks the user until the transaction ends; false when the account is disabled or deleted, or when the session ended or
 * was renewed, the password changed, a second factor was added or the token was revoked since the request was
 * authenticated.
 */
export async function lockAndCheckAccount(
  database: Engine,
  tx: Tx,
  userId: number,
  credential: Credential,
): Promise<boolean> {
  const account = (await lockActiveAccounts(database, tx, [userId])).get(userId)
  if (!account) return false
  if ('account' in credential) return isUnchanged(account, credential.account)
  const id = BigInt(userId)
  // Checks sessions and tokens after the lock, because they may have ended while the statement waited for it.
  if ('session' in credential) {
    if (credential.session === null) return false
    return (await tx.session.count({ where: { id: credential.session, userId: id } })) > 0
  }
  const owner = { tokenableType: 'user', tokenableId: id }
  return (await tx.personalAccessToken.count({ where: { id: credential.token, ...owner } })) > 0
}
