import { Batch } from './batch.ts'
import type { Lookups } from './lookups.ts'
import { type LookupKind, rememberTokenById, sessionByHash, tokenByHash, tokenById } from './rows.ts'

/** How an engine answers many keys of one kind at once. */
export type Query = <Key, Row>(kind: LookupKind<Key, Row>) => (keys: Key[]) => Promise<Row[]> | Row[]

/** The lookups over an engine's query, each kind with batches of its own. */
export function batchedLookups(query: Query, close: () => Promise<void>): Lookups {
  const batched = <Key, Row>(kind: LookupKind<Key, Row>) => {
    const batch = new Batch(query(kind), kind.keyOf)
    return (key: Key) => batch.find(key)
  }
  return {
    tokenById: batched(tokenById),
    tokenByHash: batched(tokenByHash),
    session: batched(sessionByHash),
    rememberToken: batched(rememberTokenById),
    close,
  }
}
