import { createConnection } from 'mariadb'
import { type ForeignSource, foreignSource, type SourceRow } from './source.ts'

/** Opens a database of MariaDB, or of MySQL with the same protocol. */
export async function openMariadbSource(url: string, password: string | null): Promise<ForeignSource> {
  const { hostname, port, username, password: given, pathname, searchParams } = new URL(url)
  const connection = await createConnection({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? 3306 : Number(port),
    user: decodeURIComponent(username),
    password: decodeURIComponent(given) || (password ?? ''),
    database: decodeURIComponent(pathname.slice(1)),
    connectTimeout: 5_000,
    // Values stay in the text format of the server. Dates keep the time zone of the session, in which Laravel wrote them.
    typeCast: (column) => column.string(),
    ...(searchParams.has('ssl') ? { ssl: true } : {}),
  })
  // A lost connection also rejects the query.
  connection.on('error', () => undefined)
  await connection.query('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ')
  await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY')
  return foreignSource({
    quote: (name) => `\`${name.replaceAll('`', '``')}\``,
    placeholder: () => '?',
    columnQuery:
      'SELECT column_name AS name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?',
    query: async (sql, values): Promise<SourceRow[]> => connection.query(sql, [...values]),
    close: () => connection.end(),
  })
}
