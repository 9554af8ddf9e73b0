import type { SecondFactor } from '../../../auth/sign-in/second-factor.ts'
import type { KeptUser } from '../../../identity/import-with-ids.ts'
import { canonicalEmail } from '../../../identity/user.ts'
import { importedHash } from '../../../platform/crypto/imported-hash.ts'
import { admitCost, tooManyCosts } from '../../../platform/crypto/stored-password.ts'
import { isEmail } from '../../../platform/http/formats.ts'
import { decryptLaravel } from './encrypter.ts'
import { datesOf, oneLine, rowId } from './part.ts'
import type { SourceRow } from './source/source.ts'

/** Columns that the import reads, if the table has them. */
export const userColumns = [
  'id',
  'email',
  'name',
  'password',
  'role',
  'email_verified_at',
  'two_factor_secret',
  'two_factor_recovery_codes',
  'two_factor_confirmed_at',
  'created_at',
  'updated_at',
  'deleted_at',
] as const

export const requiredUserColumns = ['id', 'email', 'password'] as const

/** What the users of a run have in common. */
export interface UserRules {
  /** Keys of the application, newest first. */
  keys: readonly Buffer[]
  secondFactor: SecondFactor
  defaultRole: string
  /** Roles of administrators. */
  adminRoles: readonly string[]
  /** Kinds of password hashes that svc has or gets. */
  costs: Set<string>
  /** Whether second factors without a confirmation date are active. */
  unconfirmedIsActive: boolean
  now: number
}

const dateColumns = ['email_verified_at', 'two_factor_confirmed_at', 'created_at', 'updated_at', 'deleted_at'] as const

/** Returns the user of a row, or the reason to skip it. */
export function userOf(row: SourceRow, rules: UserRules): KeptUser | string {
  const id = rowId(row.id)
  const address = (row.email ?? '').trim()
  const dates = datesOf(row, dateColumns)
  if (id === null) return 'the id is not an integer'
  if (!isEmail(address)) return 'the address is invalid'
  if (typeof dates === 'string') return dates
  if (dates.deleted_at) return 'it was deleted in Laravel (deleted_at)'
  const email = canonicalEmail(address)
  const password = row.password ? importedHash(row.password) : null
  if (row.password && !password) return 'the password hash is not bcrypt or argon2 with usual costs'
  if (password && !admitCost(rules.costs, password.cost)) return tooManyCosts
  const factor = secondFactorOf(row, id, dates.two_factor_confirmed_at, rules)
  if (typeof factor === 'string') return factor
  const createdAt = dates.created_at ?? new Date(rules.now)
  return {
    id,
    email,
    name: oneLine(row.name) || (email.split('@')[0] ?? ''),
    password: password?.hash ?? null,
    role: oneLine(row.role) || rules.defaultRole,
    emailVerifiedAt: dates.email_verified_at,
    ...factor,
    createdAt,
    updatedAt: dates.updated_at ?? createdAt,
  }
}

type StoredFactor = Pick<KeptUser, 'twoFactorSecret' | 'twoFactorRecoveryCodes' | 'twoFactorConfirmedAt'>

const noFactor: StoredFactor = { twoFactorSecret: null, twoFactorRecoveryCodes: null, twoFactorConfirmedAt: null }

/** Encrypts the second factor for svc, or returns why the user is skipped. Without it, the password alone would sign in. */
function secondFactorOf(
  { two_factor_secret: sealed, two_factor_recovery_codes: sealedCodes }: SourceRow,
  id: bigint,
  confirmedAt: Date | null,
  { keys, secondFactor, unconfirmedIsActive, now }: UserRules,
): StoredFactor | string {
  if (!sealed) return confirmedAt ? 'the second factor has no secret' : noFactor
  if (!confirmedAt && !unconfirmedIsActive) return noFactor
  if (keys.length === 0) return 'the second factor needs the APP_KEY: see --app-key-file'
  const secret = decryptLaravel(sealed, keys)
  if (secret === null) return 'the second factor cannot be decrypted with the given APP_KEY'
  if (!/^[A-Z2-7]{16,104}=*$/.test(secret)) return 'the secret of the second factor is not base32'
  const codes = sealedCodes ? codesOf(decryptLaravel(sealedCodes, keys)) : []
  if (!codes) return 'the recovery codes cannot be decrypted'
  const kept = secondFactor.kept(Number(id), secret.replace(/=+$/, ''), codes)
  return {
    twoFactorSecret: kept.secret,
    twoFactorRecoveryCodes: kept.recoveryCodes,
    twoFactorConfirmedAt: confirmedAt ?? new Date(now),
  }
}

function codesOf(text: string | null): string[] | null {
  try {
    const codes: unknown = JSON.parse(text ?? '')
    return Array.isArray(codes) && codes.every((code) => typeof code === 'string' && code !== '') ? codes : null
  } catch {
    return null
  }
}
