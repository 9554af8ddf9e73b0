import { Pool } from 'pg'
import { batchedLookups, type Watch } from './batched.ts'
import type { Lookups } from './lookups.ts'
import type { Value } from './rows.ts'

// Values stay text; parsing only the used ones keeps batches cheap.
const asText = { getTypeParser: () => (value: string) => value }

/** Batched lookups on a small separate pool, with one prepared `= ANY($1)` per batch. */
export function postgresqlLookups(
  url: string,
  connections: number,
  watch: Watch,
  onError: (error: Error) => void,
): Lookups {
  const pool = new Pool({
    connectionString: url,
    application_name: 'svc lookups',
    max: connections,
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
    keepAlive: true,
    types: asText,
  })
  pool.on('error', onError)

  const lookups = batchedLookups(
    ({ name, select, column, type, rowOf }) => {
      const text = `${select} WHERE ${column} = ANY($1::${type}[])`
      return async (keys) => {
        const { rows } = await pool.query<Value[]>({ name, text, values: [keys], rowMode: 'array' })
        return rows.map(rowOf)
      }
    },
    () => pool.end(),
    watch,
  )
  return { ...lookups, pool }
}
