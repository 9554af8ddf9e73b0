import { currentHashes, noPassword } from '../platform/crypto/stored-password.ts'
import type { Database, Tx } from '../platform/database/database.ts'
import { type Sql, sql } from '../platform/database/sql.ts'
import { arrayLiteral } from '../platform/database/statements.ts'
import type { Prisma } from '../platform/generated/postgresql/client.ts'
import { type AttributeChanges, type Attributes, withAttributes } from './attributes.ts'
import { isHeldForUndo } from './email-change.ts'
import type { Fields } from './fields.ts'
import { clearTwoFactor, clearUnconfirmedTwoFactor } from './two-factor.ts'
import { canonicalEmail, toUser, type User } from './user.ts'
import { deriveUsername, giveUsername } from './username.ts'

/** A user with the password hash. */
export interface UserWithPassword {
  user: User
  password: string | null
}

/** Data of a new user. */
export interface NewUser {
  name: string
  email: string
  password: string | null
  role: string
  verified: boolean
  now: number
  /** In its stored form. Derived from the name without one. */
  username?: string | undefined
  attributes?: Attributes
}

/** Changes that an administrator can make. */
export interface UserChanges {
  name?: string
  /** Counts as verified. Throws a unique violation if another user has the address. */
  email?: string
  role?: string
  /** In its stored form. */
  username?: string
  parts?: AttributeChanges
  /** Changes of the fields; null removes one. */
  fields?: Fields
  verified?: true
  disabled?: boolean
  resetTwoFactor?: true
}

/** Finds a user with password hash by address. */
export async function findUserByEmail(db: Database | { prisma: Tx }, email: string): Promise<UserWithPassword | null> {
  const row = await db.prisma.user.findUnique({ where: { email: canonicalEmail(email) } })
  return row && { user: toUser(row), password: row.password }
}

/** Finds a user with password hash by id. */
export async function findUserById(db: Database | { prisma: Tx }, id: number): Promise<UserWithPassword | null> {
  const row = await db.prisma.user.findUnique({ where: { id: BigInt(id) } })
  return row && { user: toUser(row), password: row.password }
}

/** The row of a locked account. */
interface LockedAccount {
  id: bigint | number
  password: string | null
  disabled_at: unknown
  /** Whether the account has a second factor. */
  confirmed: boolean | number
}

/**
 * Locks these users as `lockUsers` does, and returns those whose account is active, neither disabled nor deleted, by id.
 */
export async function lockActiveAccounts(
  { engine }: Pick<Database, 'engine'>,
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

/**
 * Tests whether a locked account is still as the sign-in found it: with the same password, and without a second factor
 * that the sign-in did not ask for.
 */
export const isUnchanged = (account: LockedAccount | undefined, { user, password }: UserWithPassword): boolean =>
  account?.password === password && (user.two_factor_enabled || !account.confirmed)

/** Locks and returns the account of a sign-in, if it is active and `isUnchanged` applies. PostgreSQL only. */
export const unchangedAccount = ({ user, password }: UserWithPassword): Sql => sql`
  SELECT id, email, email_verified_at, language FROM users
  WHERE id = ${BigInt(user.id)} AND password IS NOT DISTINCT FROM CAST(${password} AS TEXT) AND disabled_at IS NULL
    AND (two_factor_confirmed_at IS NULL OR CAST(${user.two_factor_enabled} AS BOOLEAN))
  FOR NO KEY UPDATE`

/** Number of users per query. */
const batch = 500

/** Yields all users, oldest first, without holding all of them in memory. */
export async function* eachUser({ prisma }: Database): AsyncGenerator<User> {
  let last = 0n
  for (;;) {
    const rows = await prisma.user.findMany({ where: { id: { gt: last } }, orderBy: { id: 'asc' }, take: batch })
    yield* rows.map(toUser)
    last = rows.at(-1)?.id ?? last
    if (rows.length < batch) return
  }
}

/** Tests whether there is a user. */
export const hasUsers = async ({ prisma }: Database): Promise<boolean> =>
  (await prisma.user.findFirst({ select: { id: true } })) !== null

/** Creates a user; null if the address is taken. Throws 422 if the username is. */
export async function createUser(tx: Tx, { now, email, verified, ...rest }: NewUser): Promise<User | null> {
  const date = new Date(now)
  const address = canonicalEmail(email)
  const { name, password, role, username, attributes = {} } = rest
  const others = withAttributes({}, attributes)
  if (await isHeldForUndo(tx, address, null, now)) return null
  const verifiedAt = verified ? date : null
  // A single statement: two concurrent requests for one address do not abort a transaction.
  const created = await tx.$executeRaw`
    INSERT INTO users (name, email, password, role, attributes, email_verified_at, created_at, updated_at)
    VALUES (${name}, ${address}, ${password}, ${role}, ${others}, ${verifiedAt}, ${date}, ${date})
    ON CONFLICT (email) DO NOTHING`
  if (created === 0) return null
  if (await isHeldForUndo(tx, address, null, now)) {
    await tx.user.delete({ where: { email: address } })
    return null
  }
  const user = toUser(await tx.user.findUniqueOrThrow({ where: { email: address } }))
  if (username === undefined) return { ...user, username: await deriveUsername(tx, user) }
  await giveUsername(tx, user.id, username)
  return { ...user, username }
}

/** Changes a locked user. The caller revokes the access of a disabled user. */
export async function updateUser(tx: Tx, user: User, changes: UserChanges, now: number): Promise<User> {
  const data: Prisma.UserUpdateInput = { updatedAt: new Date(now) }
  if (changes.name !== undefined) data.name = changes.name
  if (changes.role !== undefined) data.role = changes.role
  if (changes.email !== undefined && changes.email !== user.email) {
    Object.assign(data, { email: changes.email, emailVerifiedAt: new Date(now), pendingEmail: null })
    // Mails to the former address must not lead to the account any more.
    await tx.passwordReset.deleteMany({ where: { userId: BigInt(user.id) } })
    await tx.emailChange.deleteMany({ where: { userId: BigInt(user.id) } })
  }
  if (changes.parts) data.attributes = withAttributes(user, changes.parts)
  if (changes.username !== undefined && changes.username !== user.username) {
    await giveUsername(tx, user.id, changes.username)
  }
  if (changes.verified && !user.email_verified_at) data.emailVerifiedAt = new Date(now)
  if (changes.disabled !== undefined) data.disabledAt = changes.disabled ? new Date(now) : null
  if (changes.disabled) data.pendingEmail = null
  if (changes.resetTwoFactor) {
    await clearTwoFactor(tx, user.id)
  }
  const changed = toUser(await tx.user.update({ where: { id: BigInt(user.id) }, data }))
  if (changes.disabled) {
    await clearUnconfirmedTwoFactor(tx, user.id)
    await tx.passwordReset.deleteMany({ where: { userId: BigInt(user.id) } })
  }
  return changed
}

/** Maximum number of legacy hash kinds. */
const maxKinds = 20

/** Returns one stored hash per legacy algorithm and parameter set. */
export async function legacyHashes({ prisma }: Database): Promise<string[]> {
  const isHash = {
    OR: ['$2', '$argon2', '$scrypt', '$pbkdf2', '$fbscrypt'].map((startsWith) => ({ password: { startsWith } })),
  }
  const found: string[] = []
  const known = [currentHashes]
  while (known.length <= maxKinds) {
    const NOT = known.map((prefix) => ({ password: { startsWith: prefix } }))
    const row = await prisma.user.findFirst({ where: { ...isHash, NOT }, select: { password: true } })
    if (!row?.password) break
    found.push(row.password)
    known.push(prefixOf(row.password))
  }
  return found
}

/** Prefix that identifies algorithm and parameters; the whole text if the format is unknown. */
const prefixOf = (stored: string): string =>
  /^\$2[abxy]\$\d\d\$|^\$(?:argon2id?|scrypt|pbkdf2-sha\d+|fbscrypt)\$(?:v=\d+\$)?[^$]+\$/.exec(stored)?.[0] ?? stored

/** A stored hash, its replacement, and the session fingerprints of both. */
interface HashReplacement {
  stored: string
  replacement: string
  fingerprints: { from: string; to: string }
}

/** Replaces the hash of an unchanged password. Returns false if the password changed in the meantime. */
export async function replacePasswordHash(tx: Tx, userId: number, hashes: HashReplacement): Promise<boolean> {
  const id = BigInt(userId)
  const { stored, replacement, fingerprints } = hashes
  const { count } = await tx.user.updateMany({ where: { id, password: stored }, data: { password: replacement } })
  if (count === 0) return false
  const change = {
    where: { userId: id, passwordFingerprint: fingerprints.from },
    data: { passwordFingerprint: fingerprints.to },
  }
  await tx.session.updateMany(change)
  await tx.rememberToken.updateMany(change)
  await tx.trustedBrowser.updateMany(change)
  return true
}

/**
 * Sets a new password, which invalidates sessions and remember tokens of the old one. Drops a pending address and an
 * unconfirmed second factor, because someone who knew the old password may have requested the address and know the secret.
 */
export async function setPassword(tx: Tx, userId: number, password: string, now: number): Promise<void> {
  const data = { password, pendingEmail: null, updatedAt: new Date(now) }
  await tx.user.update({ where: { id: BigInt(userId) }, data })
  await clearUnconfirmedTwoFactor(tx, userId)
  await tx.passwordReset.deleteMany({ where: { userId: BigInt(userId) } })
}

/** Removes the password, if any, which invalidates sessions and remember tokens of the old one. */
export async function clearPassword(tx: Tx, userId: number, now: number): Promise<void> {
  await tx.user.update({ where: { id: BigInt(userId) }, data: { password: noPassword(), updatedAt: new Date(now) } })
  await tx.passwordReset.deleteMany({ where: { userId: BigInt(userId) } })
}

/**
 * Tests whether the address of an account is unverified and its owner can still get a verified one back. Until then the
 * mailbox of the new address does not open the account: it may be a thief's, or belong to a person whose address a stranger entered.
 */
export async function isAddressInDoubt(tx: Tx, userId: number, now: number): Promise<boolean> {
  const undoable = { userId: BigInt(userId), appliedAt: { not: null }, expiresAt: { gt: new Date(now) } }
  return (await tx.emailChange.count({ where: { ...undoable, user: { emailVerifiedAt: null } } })) > 0
}

/** Marks the address as verified; false if it was verified before or has changed. */
export async function markVerified(tx: Tx, userId: number, email: string, now: number): Promise<boolean> {
  const date = new Date(now)
  const { count } = await tx.user.updateMany({
    where: { id: BigInt(userId), email, emailVerifiedAt: null },
    data: { emailVerifiedAt: date, updatedAt: date },
  })
  return count > 0
}

/** Deletes the user and all rows that refer to it; false if another request was first. */
export async function deleteUser(tx: Tx, userId: number): Promise<boolean> {
  return (await tx.user.deleteMany({ where: { id: BigInt(userId) } })).count > 0
}
