import type { User as UserRow } from '../platform/generated/postgresql/client.ts'
import { foldAddress } from '../platform/http/formats.ts'
import { type Attributes, attributesOf } from './attributes.ts'
import { wireDate } from './wire-date.ts'

/** A user in API format, and whether the account is disabled; without the password hash. */
export interface User extends Attributes {
  id: number
  name: string
  username: string
  email: string
  email_verified_at: string | null
  /** Pending address, if any; takes effect once verified. */
  pending_email?: string
  role: string
  /** Names of the groups, sorted. */
  groups: readonly string[]
  /** Tag of the language that the user chose; null without a choice. Not part of the API. */
  language: string | null
  two_factor_enabled: boolean
  created_at: string
  updated_at: string
  disabled: boolean
}

const none: readonly string[] = Object.freeze([])

/** Reads the groups of a row. */
export const groupList = (stored: string): readonly string[] => (stored === '[]' ? none : JSON.parse(stored))

/** Converts a database row to a user. */
export const toUser = (row: UserRow): User => ({
  id: Number(row.id),
  name: row.name,
  username: row.username ?? `user-${row.id}`,
  ...attributesOf(row.attributes),
  email: row.email,
  email_verified_at: wireDate(row.emailVerifiedAt),
  ...(row.pendingEmail === null ? {} : { pending_email: row.pendingEmail }),
  role: row.role,
  groups: groupList(row.groups),
  language: row.language,
  two_factor_enabled: row.twoFactorConfirmedAt !== null,
  created_at: wireDate(row.createdAt),
  updated_at: wireDate(row.updatedAt),
  disabled: row.disabledAt !== null,
})

/** Normalises an address for storage and comparison: trimmed, NFC, lower case, and the domain in ASCII. */
export const canonicalEmail = (email: string): string => foldAddress(email.trim())
