import { Batch } from './batch.ts'
import type { Lookups } from './lookups.ts'
import {
  type LookupKind,
  oauthDenial,
  oauthRecord,
  oauthRecordByCode,
  oauthRecordByUid,
  personalToken,
  rememberTokenById,
  sessionByHash,
  sessionByPublicId,
  tokenByHash,
  tokenById,
  userById,
} from './rows.ts'

/** How an engine answers many keys of one kind at once. */
export type Query = <Key, Row>(kind: LookupKind<Key, Row>) => (keys: Key[]) => Promise<Row[]> | Row[]

/** The lookups over an engine's query, each kind with batches of its own. */
export function batchedLookups(query: Query, close: () => Promise<void>): Lookups {
  const batched = <Key, Row>(kind: LookupKind<Key, Row>) => {
    const batch = new Batch(query(kind), kind.keyOf)
    return (key: Key) => batch.find(key)
  }
  const denial = batched(oauthDenial)
  const personal = batched(personalToken)
  return {
    tokenById: batched(tokenById),
    tokenByHash: batched(tokenByHash),
    session: batched(sessionByHash),
    rememberToken: batched(rememberTokenById),
    user: batched(userById),
    sessionByPublicId: batched(sessionByPublicId),
    oauthRecord: batched(oauthRecord),
    oauthRecordByUid: batched(oauthRecordByUid),
    oauthRecordByCode: batched(oauthRecordByCode),
    isDenied: async (hash) => (await denial(hash)) !== null,
    hasPersonalToken: async (jti) => (await personal(jti)) !== null,
    close,
  }
}
