import type { Database, Tx } from '../platform/database/database.ts'
import { type Attributes, withAttributes } from './attributes.ts'
import { canonicalEmail } from './user.ts'
import { deriveUsername, giveUsername } from './username.ts'

/** The database, or a transaction. */
interface Reader {
  prisma: Database['prisma'] | Tx
}

/** A user of another server. */
export interface ImportedUser {
  email: string
  name: string
  password: string | null
  role: string
  verified: boolean
  disabled: boolean
  /** Names of groups that exist. */
  groups?: readonly string[]
  /** In its stored form; derived without one. */
  username?: string | undefined
  attributes?: Attributes
  /** Secret of an authenticator app in base32, which the user confirmed elsewhere. */
  authenticator?: string
  links?: readonly ImportedIdentity[]
}

/** An account of the user elsewhere, with which the user signs in. */
export interface ImportedIdentity {
  provider: string
  issuer: string
  /** The id of the user there. */
  providerId: string
}

/** Returns until when an undo link may give each of these addresses back to its former user. */
export async function heldAddresses(
  { prisma }: Reader,
  emails: readonly string[],
  now: number,
): Promise<Map<string, Date>> {
  const held = await prisma.emailChange.findMany({
    where: { oldEmail: { in: [...emails] }, appliedAt: { not: null }, expiresAt: { gt: new Date(now) } },
    orderBy: { expiresAt: 'asc' },
  })
  return new Map(held.map(({ oldEmail, expiresAt }) => [oldEmail, expiresAt]))
}

/** Returns the addresses that have an account, or that an undo link may give back. */
export async function takenAddresses(reader: Reader, emails: string[], now: number): Promise<Set<string>> {
  const known = await reader.prisma.user.findMany({ where: { email: { in: emails } }, select: { email: true } })
  return new Set([...known.map(({ email }) => email), ...(await heldAddresses(reader, emails, now)).keys()])
}

/**
 * Creates the users whose addresses are free, and returns the id of each by address. An address that an undo link may
 * give back counts as taken.
 */
export async function insertUsers(tx: Tx, users: readonly ImportedUser[], now: number): Promise<Map<string, number>> {
  const date = new Date(now)
  const emails = users.map(({ email }) => canonicalEmail(email))
  const usernames = new Map(users.map(({ email, username }) => [canonicalEmail(email), username]))
  const taken = await takenAddresses({ prisma: tx }, emails, now)
  const rows = users
    .map(({ email, name, password, role, verified, disabled, attributes = {} }) => ({
      email: canonicalEmail(email),
      name,
      password,
      role,
      attributes: withAttributes({}, attributes),
      emailVerifiedAt: verified ? date : null,
      disabledAt: disabled ? date : null,
      createdAt: date,
      updatedAt: date,
    }))
    .filter(({ email }) => !taken.has(email))
  const created = await tx.user.createManyAndReturn({ data: rows, select: { id: true, email: true, name: true } })
  for (const { id, email, name } of created) {
    const wanted = usernames.get(email)
    if (wanted === undefined) await deriveUsername(tx, { id: Number(id), name })
    else await giveUsername(tx, Number(id), wanted)
  }
  return new Map(created.map(({ id, email }) => [email, Number(id)]))
}
