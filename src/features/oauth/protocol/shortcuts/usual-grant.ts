import type { OauthRecordRow } from '../../../../auth/access/lookups/lookups.ts'
import type { RecordSeal } from '../../records/record-seal.ts'

/** Payload of a grant's record. */
interface StoredGrant {
  jti?: string
  accountId?: string
  clientId?: string
  iat?: number
  exp?: number
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
  const now = Math.floor(Date.now() / 1000)
  const isUsual =
    grant !== null &&
    row.kind === 'Grant' &&
    row.consumedAt === null &&
    grant.accountId === sub &&
    grant.clientId === client_id &&
    (grant.iat ?? Number.POSITIVE_INFINITY) <= now &&
    (grant.exp ?? 0) > now &&
    grant.rejected === undefined &&
    (grant.openid?.claims ?? []).length === 0
  return isUsual ? grant : null
}
