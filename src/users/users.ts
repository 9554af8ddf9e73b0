import { currentHashes, noPassword } from '../crypto/password.ts'
import type { Database, Tx } from '../database/database.ts'
import type { Prisma } from '../generated/postgresql/client.ts'
import { isHeldForUndo } from './email-change.ts'
import { clearTwoFactor } from './two-factor.ts'
import { canonicalEmail, toUser, type User } from './user.ts'

/** A user with what a password check needs. */
export interface UserWithPassword {
  user: User
  password: string | null
}

/** What a new user starts with. */
export interface NewUser {
  name: string
  email: string
  password: string | null
  role: string
  verified: boolean
  now: number
}

/** What an administrator may change of a user. */
export interface UserChanges {
  role?: string
  verified?: true
  disabled?: boolean
  resetTwoFactor?: true
}

/** The user of this address, with the password hash. */
export async function findUserByEmail(db: Database | { prisma: Tx }, email: string): Promise<UserWithPassword | null> {
  const row = await db.prisma.user.findUnique({ where: { email: canonicalEmail(email) } })
  return row && { user: toUser(row), password: row.password }
}

/** The user of this id, with the password hash. */
export async function findUserById(db: Database | { prisma: Tx }, id: number): Promise<UserWithPassword | null> {
  const row = await db.prisma.user.findUnique({ where: { id: BigInt(id) } })
  return row && { user: toUser(row), password: row.password }
}

/** Every user, oldest first. */
export async function listUsers(db: Database): Promise<User[]> {
  return (await db.prisma.user.findMany({ orderBy: { id: 'asc' } })).map(toUser)
}

/** The new user, or null when the address is taken. */
export async function createUser(tx: Tx, { now, email, verified, ...rest }: NewUser): Promise<User | null> {
  const date = new Date(now)
  const address = canonicalEmail(email)
  const { name, password, role } = rest
  if (await isHeldForUndo(tx, address, null, now)) return null
  const verifiedAt = verified ? date : null
  // One statement: of two that want the address at once, the second is told so, and no transaction breaks.
  const created = await tx.$executeRaw`
    INSERT INTO users (name, email, password, role, email_verified_at, created_at, updated_at)
    VALUES (${name}, ${address}, ${password}, ${role}, ${verifiedAt}, ${date}, ${date})
    ON CONFLICT (email) DO NOTHING`
  return created === 0 ? null : toUser(await tx.user.findUniqueOrThrow({ where: { email: address } }))
}

/** The changed user, or null when there is none of this address. Who disables a user also revokes their access. */
export async function updateUser(tx: Tx, email: string, changes: UserChanges, now: number): Promise<User | null> {
  const found = await findUserByEmail({ prisma: tx }, email)
  if (!found) return null
  const data: Prisma.UserUpdateInput = { updatedAt: new Date(now) }
  if (changes.role !== undefined) data.role = changes.role
  if (changes.verified && !found.user.email_verified_at) data.emailVerifiedAt = new Date(now)
  if (changes.disabled !== undefined) data.disabledAt = changes.disabled ? new Date(now) : null
  if (changes.resetTwoFactor) {
    await clearTwoFactor(tx, found.user.id)
  }
  const changed = toUser(await tx.user.update({ where: { id: BigInt(found.user.id) }, data }))
  if (changes.disabled) await tx.passwordReset.deleteMany({ where: { userId: BigInt(found.user.id) } })
  return changed
}

/** The most kinds of legacy hashes that are looked for. */
const maxKinds = 20

/** One stored hash of every algorithm and set of parameters that is not today's. */
export async function legacyHashes({ prisma }: Database): Promise<string[]> {
  const isHash = { OR: [{ password: { startsWith: '$2' } }, { password: { startsWith: '$argon2' } }] }
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

/** What all hashes of one algorithm and set of parameters begin with; of anything else, all of it. */
const prefixOf = (stored: string): string =>
  /^\$2[abxy]\$\d\d\$|^\$argon2id?\$(?:v=\d+\$)?[^$]+\$/.exec(stored)?.[0] ?? stored

/** A stored hash, the one to replace it, and what sessions keep of each. */
interface HashReplacement {
  stored: string
  replacement: string
  marks: { from: string; to: string }
}

/** Replaces the stored hash by one of the same password; false when the password was changed meanwhile. */
export async function replacePasswordHash(tx: Tx, userId: number, hashes: HashReplacement): Promise<boolean> {
  const id = BigInt(userId)
  const { stored, replacement, marks } = hashes
  const { count } = await tx.user.updateMany({ where: { id, password: stored }, data: { password: replacement } })
  if (count === 0) return false
  const change = { where: { userId: id, passwordFingerprint: marks.from }, data: { passwordFingerprint: marks.to } }
  await tx.session.updateMany(change)
  await tx.rememberToken.updateMany(change)
  return true
}

/** Puts a new password in place; sessions and remember tokens that began with the old one no longer count. */
export async function setPassword(tx: Tx, userId: number, password: string, now: number): Promise<void> {
  await tx.user.update({ where: { id: BigInt(userId) }, data: { password, updatedAt: new Date(now) } })
  await tx.passwordReset.deleteMany({ where: { userId: BigInt(userId) } })
}

/** Takes the password away, if there is one: nothing that began before counts any more. */
export async function clearPassword(tx: Tx, userId: number, now: number): Promise<void> {
  await tx.user.update({ where: { id: BigInt(userId) }, data: { password: noPassword(), updatedAt: new Date(now) } })
  await tx.passwordReset.deleteMany({ where: { userId: BigInt(userId) } })
}

/** Marks the address as verified; false when it was already, or is another by now. */
export async function markVerified(tx: Tx, userId: number, email: string, now: number): Promise<boolean> {
  const date = new Date(now)
  const { count } = await tx.user.updateMany({
    where: { id: BigInt(userId), email, emailVerifiedAt: null },
    data: { emailVerifiedAt: date, updatedAt: date },
  })
  return count > 0
}
