import type { OauthRecordRow } from '../../../../auth/access/lookups/lookups.ts'
import type { RecordSeal } from '../../records/record-seal.ts'

/** Times of a payload, in Unix seconds. */
interface Times {
  iat?: number
  exp?: number
}

/** Tests whether a payload was issued and has not expired. */
export function isInTime({ iat = Number.POSITIVE_INFINITY, exp = 0 }: Times): boolean {
  const now = Math.floor(Date.now() / 1000)
  return iat <= now && exp > now
}

/** Payload of a grant's record. */
interface StoredGrant extends Times {
  jti?: string
  accountId?: string
  clientId?: string
  openid?: { scope?: string; claims?: string[] }
  resources?: Record<string, string>
  rejected?: object
}

/** The user and the client that a grant must have. */
interface Parties {
  sub: string
  client_id: string
}

/** Opens the grant of a user for a client; null if it ended, or contains what only the library interprets: individual or rejected claims. */
export function usualGrant(row: OauthRecordRow, seal: RecordSeal, { sub, client_id }: Parties): StoredGrant | null {
  const grant = seal.open<StoredGrant>(row)
  const isUsual =
    grant !== null &&
    row.kind === 'Grant' &&
    row.consumedAt === null &&
    grant.accountId === sub &&
    grant.clientId === client_id &&
    isInTime(grant) &&
    grant.rejected === undefined &&
    (grant.openid?.claims ?? []).length === 0
  return isUsual ? grant : null
}
