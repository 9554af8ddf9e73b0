import type { Database, Tx } from '../database/database.ts'

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

/** Locks the user; false when the account is disabled or deleted, or its password hash is no longer this one. */
export async function holdPassword(database: Engine, tx: Tx, userId: number, hash: string | null): Promise<boolean> {
  await lockUser(database, tx, userId)
  return (await tx.user.count({ where: { id: BigInt(userId), password: hash, disabledAt: null } })) > 0
}

/** Locks the user; false when the session of this public id is no longer the user's. */
export async function holdSession(database: Engine, tx: Tx, userId: number, publicId: string): Promise<boolean> {
  await lockUser(database, tx, userId)
  return (await tx.session.count({ where: { publicId, userId: BigInt(userId) } })) > 0
}
