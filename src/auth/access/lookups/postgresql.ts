import { Pool } from 'pg'
import type { CurrentConfig } from '../../../platform/config/current.ts'
import { refuseDuringOutage } from '../../../platform/database/outage.ts'
import { poolOptions } from '../../../platform/database/postgresql-client.ts'
import type { Dependency } from '../../../platform/dependencies.ts'
import { batchedLookups, type Watch } from './batched.ts'
import type { Value } from './columns.ts'
import type { Lookups } from './lookups.ts'

// Values stay text; parsing only the used ones keeps batches cheap.
const asText = { getTypeParser: () => (value: string) => value }

/**
 * Batched lookups on a small separate pool, with one `= ANY($1)` per batch. A single key has its own statement: PostgreSQL
 * plans a query with an array again each time, which takes longer than running it.
 */
export function postgresqlLookups(
  config: CurrentConfig,
  connections: number,
  watch: Watch,
  state: Dependency,
): Lookups {
  const { prepared_statements: usesStatements } = config.current().database
  const pool = new Pool({
    ...poolOptions(() => config.current().database.url),
    application_name: 'svc lookups',
    max: connections,
    query_timeout: 5_000,
    types: asText,
  })
  refuseDuringOutage(pool, state)

  const lookups = batchedLookups(
    ({ name, select, column, type, rowOf }) => {
      const many =
        column === null
          ? `WITH keys AS (SELECT key FROM unnest($1::${type}[]) AS given (key)) ${select}`
          : `${select} WHERE ${column} = ANY($1::${type}[])`
      const one =
        column === null
          ? `WITH keys AS (SELECT $1::${type} AS key) ${select}`
          : `${select} WHERE ${column} = $1::${type}`
      const statementOf = (text: string, suffix = '') => ({
        ...(usesStatements && { name: name + suffix }),
        text,
        rowMode: 'array' as const,
      })
      const [ofMany, ofOne] = [statementOf(many), statementOf(one, '-one')]
      return async (keys) => {
        const query = keys.length === 1 ? { ...ofOne, values: keys } : { ...ofMany, values: [keys] }
        const { rows } = await pool.query<Value[]>(query)
        return rows.map(rowOf)
      }
    },
    2,
    () => pool.end(),
    watch,
  )
  return { ...lookups, pool }
}
