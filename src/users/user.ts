import type { User as UserRow } from '../generated/postgresql/client.ts'
import { wireDate } from './wire-date.ts'

/** A user as it goes on the wire, and whether the account is disabled; the password hash is not part of it. */
export interface User {
  id: number
  name: string
  email: string
  email_verified_at: string | null
  /** The address that takes effect once it is verified; only where there is one. */
  pending_email?: string
  role: string
  two_factor_enabled: boolean
  created_at: string
  updated_at: string
  disabled: boolean
}

/** The user of a database row. */
export const toUser = (row: UserRow): User => ({
  id: Number(row.id),
  name: row.name,
  email: row.email,
  email_verified_at: wireDate(row.emailVerifiedAt),
  ...(row.pendingEmail === null ? {} : { pending_email: row.pendingEmail }),
  role: row.role,
  two_factor_enabled: row.twoFactorConfirmedAt !== null,
  created_at: wireDate(row.createdAt),
  updated_at: wireDate(row.updatedAt),
  disabled: row.disabledAt !== null,
})

/** An address in the one form in which it is stored and compared: trimmed, NFKC, lower case. */
export const canonicalEmail = (email: string): string => email.trim().normalize('NFKC').toLowerCase()
