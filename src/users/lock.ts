import type { Database, Tx } from '../database/database.ts'
import { arrayLiteral } from '../database/statements.ts'
import { canonicalEmail, type User } from './user.ts'

type Engine = Pick<Database, 'engine'>

/** The row of a locked account. */
interface LockedAccount {
  id: bigint | number
  password: string | null
  disabled_at: unknown
  /** Whether the account has a second factor. */
  confirmed: boolean | number
}

/** An account as it was when its sign-in was checked. */
export interface CheckedAccount {
  user: User
  password: string | null
}

/** Tests whether a locked account still has the password, and no second factor that the sign-in was not asked for. */
export const isUnchanged = (account: LockedAccount | undefined, { user, password }: CheckedAccount): boolean =>
  account?.password === password && (user.two_factor_enabled || !account.confirmed)

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

/** Locks these users as `lockUsers` does. Returns those whose account is active, neither disabled nor deleted, by id. */
export async function lockActiveAccounts(
  { engine }: Engine,
  tx: Tx,
  userIds: readonly number[],
): Promise<ReadonlyMap<number, LockedAccount>> {
  if (userIds.length === 0) return new Map()
  const ids = [...new Set(userIds)]
  // One statement locks and reads: PostgreSQL returns the current rows after it has waited for their locks.
  const rows =
    engine === 'sqlite'
      ? await tx.$queryRaw<LockedAccount[]>`
          SELECT id, password, disabled_at, two_factor_confirmed_at IS NOT NULL AS confirmed
          FROM users WHERE id IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`
      : await tx.$queryRaw<LockedAccount[]>`
          SELECT id, password, disabled_at, two_factor_confirmed_at IS NOT NULL AS confirmed
          FROM users WHERE id = ANY(CAST(${arrayLiteral(ids)} AS BIGINT[]))
          ORDER BY id FOR NO KEY UPDATE`
  return new Map(rows.filter((row) => row.disabled_at === null).map((row) => [Number(row.id), row]))
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
export type Credential = { session: string | null } | { account: CheckedAccount } | { token: bigint }

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
