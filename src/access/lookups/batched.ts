import type { FastifyInstance } from 'fastify'
import type { Metrics } from '../../observability/metrics/metrics.ts'
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

/** Where what is looked up is told. */
export type Watch = Pick<FastifyInstance, 'metrics' | 'tracing'>

type Run<Key, Row> = (keys: Key[]) => Promise<Row[]> | Row[]

/** The same query, counted and timed. */
const counted =
  <Key, Row>(name: string, run: Run<Key, Row>, metrics: Metrics): Run<Key, Row> =>
  async (keys) => {
    const begin = performance.now()
    try {
      return await run(keys)
    } finally {
      metrics.lookup(name, keys.length, (performance.now() - begin) / 1000)
    }
  }

/** The lookups over an engine's query, each kind with batches of its own. */
export function batchedLookups(query: Query, close: () => Promise<void>, { metrics, tracing }: Watch): Lookups {
  const batched = <Key, Row>(kind: LookupKind<Key, Row>) => {
    const run = query(kind)
    const batch = new Batch(metrics ? counted(kind.name, run, metrics) : run, kind.keyOf)
    const find = (key: Key) => batch.find(key)
    // In a span of the request that asks: the query itself is that of many.
    return tracing ? (key: Key) => tracing.span(`lookup ${kind.name}`, {}, () => find(key)) : find
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
