import type { Database, Tx } from '../database/database.ts'
import { heldAddresses } from './email-change.ts'
import { canonicalEmail } from './user.ts'

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
}

/** Returns the addresses that have an account, or that an undo link may give back. */
export async function takenAddresses({ prisma }: Reader, emails: string[], now: number): Promise<Set<string>> {
  const known = await prisma.user.findMany({ where: { email: { in: emails } }, select: { email: true } })
  return new Set([...known.map(({ email }) => email), ...(await heldAddresses(prisma, emails, now)).keys()])
}

/**
 * Creates the users whose addresses are free, and returns the id of each by address. An address that an undo link may
 * give back counts as taken.
 */
export async function insertUsers(tx: Tx, users: readonly ImportedUser[], now: number): Promise<Map<string, number>> {
  const date = new Date(now)
  const emails = users.map(({ email }) => canonicalEmail(email))
  const taken = await takenAddresses({ prisma: tx }, emails, now)
  const rows = users
    .map(({ email, name, password, role, verified, disabled }) => ({
      email: canonicalEmail(email),
      name,
      password,
      role,
      emailVerifiedAt: verified ? date : null,
      disabledAt: disabled ? date : null,
      createdAt: date,
      updatedAt: date,
    }))
    .filter(({ email }) => !taken.has(email))
  const created = await tx.user.createManyAndReturn({ data: rows, select: { id: true, email: true } })
  return new Map(created.map(({ id, email }) => [email, Number(id)]))
}
