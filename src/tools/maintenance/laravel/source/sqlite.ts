import { openSqliteReader } from '../../../../platform/database/database.ts'
import { doubleQuoted, type ForeignSource, foreignSource, type SourceRow } from './source.ts'

const asText = (value: unknown): string | null =>
  value === null || value === undefined ? null : Buffer.isBuffer(value) ? value.toString('utf8') : String(value)

/** Opens an SQLite file that another application may be writing to. */
export function openSqliteSource(file: string): ForeignSource {
  const db = openSqliteReader(file)
  db.exec('BEGIN')
  const query = async (sql: string, values: readonly string[]): Promise<SourceRow[]> => {
    const rows = db
      .prepare(sql)
      .safeIntegers(true)
      .all([...values]) as Record<string, unknown>[]
    return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, asText(value)])))
  }
  // The first read of the transaction decides which state it sees.
  db.prepare('SELECT count(*) AS n FROM sqlite_master').all()
  return foreignSource({
    quote: doubleQuoted,
    placeholder: () => '?',
    columnQuery: 'SELECT name FROM pragma_table_info(?)',
    query,
    async close() {
      if (db.inTransaction) db.exec('ROLLBACK')
      db.close()
    },
  })
}
