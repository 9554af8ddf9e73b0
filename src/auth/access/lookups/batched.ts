import type { FastifyInstance } from 'fastify'
import type { Metrics } from '../../../platform/observability/metrics/metrics.ts'
import { Batch } from './batch.ts'
import type { LookupKind } from './columns.ts'
import type { Lookups } from './lookups.ts'
import {
  grantToken,
  grantTokenWithRecord,
  oauthDenial,
  oauthRecord,
  oauthRecordByCode,
  oauthRecordByUid,
  oauthToken,
  personalToken,
} from './oauth-rows.ts'
import {
  rememberTokenById,
  sessionByHash,
  sessionByPublicId,
  tokenByHash,
  tokenById,
  userByEmail,
  userById,
  userByUsername,
} from './rows.ts'

/** Runs a batch query on an engine. */
export type Query = <Key, Row>(kind: LookupKind<Key, Row>) => (keys: Key[]) => Promise<Row[]> | Row[]

/** Receivers of metrics and traces. */
export type Watch = Pick<FastifyInstance, 'metrics' | 'tracing'>

type Run<Key, Row> = (keys: Key[]) => Promise<Row[]> | Row[]

/** Wraps a query to count and time it. */
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

/** Builds the lookups on an engine's query, with separate batches and at most `concurrent` queries at once per kind. */
export function batchedLookups(
  query: Query,
  concurrent: number,
  close: () => Promise<void>,
  { metrics, tracing }: Watch,
): Lookups {
  const batched = <Key, Row>(kind: LookupKind<Key, Row>) => {
    const run = query(kind)
    const batch = new Batch(metrics ? counted(kind.name, run, metrics) : run, kind.keyOf, concurrent)
    const find = (key: Key) => batch.find(key)
    // In a span of the calling request, because the query itself serves many.
    return tracing ? (key: Key) => tracing.span(`lookup ${kind.name}`, {}, () => find(key)) : find
  }
  const denial = batched(oauthDenial)
  return {
    tokenById: batched(tokenById),
    tokenByHash: batched(tokenByHash),
    session: batched(sessionByHash),
    rememberToken: batched(rememberTokenById),
    user: batched(userById),
    userByEmail: batched(userByEmail),
    userByUsername: batched(userByUsername),
    sessionByPublicId: batched(sessionByPublicId),
    oauthRecord: batched(oauthRecord),
    oauthRecordByUid: batched(oauthRecordByUid),
    oauthRecordByCode: batched(oauthRecordByCode),
    oauthToken: batched(oauthToken),
    isDenied: async (hash) => (await denial(hash)) !== null,
    grantToken: always(batched(grantToken)),
    grantTokenWithRecord: always(batched(grantTokenWithRecord)),
    personalToken: batched(personalToken),
    close,
  }
}

/** Removes null from the result of a lookup whose query returns a row for each key. */
const always =
  <Row>(find: (key: string) => Promise<Row | null>) =>
  async (key: string): Promise<Row> => {
    const found = await find(key)
    if (!found) throw new Error('A lookup returned too few rows.')
    return found
  }
