import type { Database, Tx } from '../database/database.ts'
import { arrayLiteral, textFor } from '../database/statements.ts'
import { canonicalEmail } from './user.ts'

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
 * Credential that must still be valid when a request writes: its session (id of the row; null without one), the password
 * hash that was checked, or an API token (id).
 */
export type Credential = { session: string | null } | { password: string | null } | { token: bigint }

/**
 * Locks the user until the transaction ends; false when the account is disabled or deleted, or when the session ended or
 * was renewed, the password changed or the token was revoked since the request was authenticated.
 */
export async function lockAndCheckAccount(
  { engine }: Engine,
  tx: Tx,
  userId: number,
  credential: Credential,
): Promise<boolean> {
  const id = BigInt(userId)
  // One statement locks and reads: PostgreSQL returns the current row after it has waited for the lock.
  const lock = engine === 'sqlite' ? '' : 'FOR NO KEY UPDATE'
  const text = textFor({ engine }, `SELECT password, disabled_at FROM users WHERE id = $1 ${lock}`)
  const [user] = await tx.$queryRawUnsafe<{ password: string | null; disabled_at: unknown }[]>(text, id)
  if (!user || user.disabled_at !== null) return false
  if ('password' in credential) return user.password === credential.password
  // Checks sessions and tokens after the lock, because they may have ended while the statement waited for it.
  if ('session' in credential) {
    if (credential.session === null) return false
    return (await tx.session.count({ where: { id: credential.session, userId: id } })) > 0
  }
  const owner = { tokenableType: 'user', tokenableId: id }
  return (await tx.personalAccessToken.count({ where: { id: credential.token, ...owner } })) > 0
}
