import { Pool } from 'pg'
import { Batch } from './batch.ts'
import type { Lookups, RememberRow, SessionRow, TokenRow } from './lookups.ts'
import { rememberOf, selections, sessionOf, tokenOf, type Value } from './rows.ts'

// Every value stays the text that PostgreSQL sent: parsing only what is looked at is what makes a batch cheap.
const asText = { getTypeParser: () => (value: string) => value }

/** Batched lookups on a small pool of their own: one prepared `= ANY($1)` for all keys of a turn. */
export function postgresqlLookups(url: string, onError: (error: Error) => void): Lookups {
  const pool = new Pool({
    connectionString: url,
    application_name: 'svc lookups',
    max: 4,
    connectionTimeoutMillis: 5_000,
    query_timeout: 10_000,
    keepAlive: true,
    types: asText,
  })
  pool.on('error', onError)

  const select =
    <Row>(name: string, text: string, rowOf: (values: Value[]) => Row) =>
    async (keys: readonly unknown[]): Promise<Row[]> => {
      const { rows } = await pool.query<Value[]>({ name, text, values: [keys], rowMode: 'array' })
      return rows.map(rowOf)
    }

  const tokensById = new Batch<bigint, TokenRow>(
    select('token-by-id', `${selections.token} WHERE t.id = ANY($1::bigint[])`, tokenOf),
    (row) => row.id,
  )
  const tokensByHash = new Batch<string, TokenRow>(
    select('token-by-hash', `${selections.token} WHERE t.token = ANY($1::text[])`, tokenOf),
    (row) => row.token,
  )
  const sessions = new Batch<string, SessionRow>(
    select('session', `${selections.session} WHERE s.id = ANY($1::text[])`, sessionOf),
    (row) => row.id,
  )
  const rememberTokens = new Batch<bigint, RememberRow>(
    select('remember-token', `${selections.remember} WHERE r.id = ANY($1::bigint[])`, rememberOf),
    (row) => row.id,
  )

  return {
    tokenById: (id) => tokensById.find(id),
    tokenByHash: (hash) => tokensByHash.find(hash),
    session: (hash) => sessions.find(hash),
    rememberToken: (id) => rememberTokens.find(id),
    close: () => pool.end(),
  }
}
