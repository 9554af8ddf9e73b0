import type { AdapterPayload } from 'oidc-provider'
import type { RecordSeal } from '../records/record-seal.ts'
import type { NewRecord } from '../records/records.ts'
import { recordId } from '../records/store.ts'

/** Kinds that belong to a grant and are deleted with it. */
export const ofGrant = new Set(['AccessToken', 'AuthorizationCode', 'RefreshToken', 'DeviceCode'])

/** What identifies a record: its kind, and the identifier that its holder presents. */
interface Identity {
  kind: string
  id: string
}

/** The row of a payload of the library, which ends at `expiresAt` (unix ms). */
export function recordOf(
  { kind, id }: Identity,
  payload: AdapterPayload,
  expiresAt: number | null,
  seal: RecordSeal,
): NewRecord {
  const { grantId, userCode, sessionUid, expiresWithSession, endsWithSession } = payload
  // An interaction belongs to the user who signed in, otherwise to the user of the session that began it.
  const accountId = payload.result?.login?.accountId ?? payload.accountId ?? payload.session?.accountId
  const key = recordId(kind, id)
  return {
    id: key,
    kind,
    payload: seal.seal(key, payload),
    grantHash: grantId && ofGrant.has(kind) ? recordId('grant', grantId) : null,
    codeHash: (userCode && seal.codeHashes(userCode)[0]) || null,
    parentHash: sessionUid && (expiresWithSession || endsWithSession) ? recordId('uid', sessionUid) : null,
    uidHash: uidHashOf({ kind, id }, payload),
    userId: accountId && /^\d{1,16}$/.test(accountId) ? BigInt(accountId) : null,
    sessionId: null,
    expiresAt,
  }
}

/** Returns the second key of a record: the uid of a session, or the hash by which tokens refer to their grant. */
function uidHashOf({ kind, id }: Identity, { uid }: AdapterPayload): string | null {
  if (kind === 'Grant') return recordId('grant', id)
  return uid && kind === 'Session' ? recordId('uid', uid) : null
}
