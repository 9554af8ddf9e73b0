import type { Database, Tx } from '../database/database.ts'
import { canonicalEmail } from './user.ts'

type Engine = Pick<Database, 'engine'>

/**
 * Locks the rows of these users until the transaction ends.
 * A transaction that changes an account locks its user before any other row. With one order everywhere, transactions
 * wait for each other instead of deadlocking, and a check after the lock holds until the commit.
 */
export async function lockUsers({ engine }: Engine, tx: Tx, userIds: readonly number[]): Promise<void> {
  // SQLite runs one writing transaction at a time.
  if (engine === 'sqlite' || userIds.length === 0) return
  const list = JSON.stringify([...new Set(userIds)])
  await tx.$queryRaw`SELECT 1 FROM users
    WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_array_elements_text(CAST(${list} AS json)))
    ORDER BY id FOR NO KEY UPDATE`
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

/** What allows a request to write: its session (public id), the password hash that was checked, or an API token (id). */
export type Credential = { session: string } | { password: string | null } | { token: bigint }

/**
 * Locks the user until the transaction ends; false when the account is disabled or deleted, or when the session ended, the
 * password changed or the token was revoked since the request was authenticated.
 */
export async function holdAccount(database: Engine, tx: Tx, userId: number, credential: Credential): Promise<boolean> {
  await lockUser(database, tx, userId)
  const id = BigInt(userId)
  const held =
    'session' in credential
      ? { sessions: { some: { publicId: credential.session } } }
      : 'password' in credential
        ? { password: credential.password }
        : {}
  if ((await tx.user.count({ where: { id, disabledAt: null, ...held } })) === 0) return false
  if (!('token' in credential)) return true
  const owner = { tokenableType: 'user', tokenableId: id }
  return (await tx.personalAccessToken.count({ where: { id: credential.token, ...owner } })) > 0
}
