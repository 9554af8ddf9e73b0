import pg from 'pg'
import { connectClient, connectionOptions } from '../../../../platform/database/postgresql-client.ts'
import { doubleQuoted, type ForeignSource, foreignSource, type SourceRow } from './source.ts'

/** Values stay in the text format of PostgreSQL. */
const asText = { getTypeParser: () => (value: string | Buffer) => value }

const settings = [
  "SET LOCAL datestyle = 'ISO, YMD'",
  "SET LOCAL timezone = 'UTC'",
  // The transaction is idle while svc writes.
  'SET LOCAL idle_in_transaction_session_timeout = 0',
].join('; ')

/** Opens a database of PostgreSQL. */
export async function openPostgresqlSource(url: string): Promise<ForeignSource> {
  const client = new pg.Client({
    ...connectionOptions(url),
    application_name: 'svc import',
  })
  // A lost connection also rejects the query.
  client.on('error', () => undefined)
  await connectClient(client)
  // The first query of the transaction decides which state it sees.
  await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${settings}; SELECT 1`)
  return foreignSource({
    quote: doubleQuoted,
    placeholder: (position) => `$${position}`,
    columnQuery:
      'SELECT column_name AS name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1',
    async query(text, values) {
      // Sound: every value is text.
      return (await client.query({ text, values: [...values], types: asText })).rows as SourceRow[]
    },
    close: () => client.end(),
  })
}
