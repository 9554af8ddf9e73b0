import type Sqlite from 'libsql'
import { type AppliedRow, applied } from '../migrate.ts'
import { openSqliteConnection } from '../sqlite.ts'
import { isBusy } from '../sqlite-errors.ts'
import { bookkeeping, type CopyConnection, sortTables } from './connection.ts'
import { DataError, fromSqlite, kindOf, type Row, readRow, type Table, toSqlite } from './values.ts'

const names = ({ columns }: Table): string => columns.map(({ name }) => `"${name}"`).join(', ')

/** A connection to an SQLite file. */
export class SqliteCopy implements CopyConnection {
  readonly #db: Sqlite.Database

  constructor(file: string) {
    this.#db = openSqliteConnection(file)
    // Only the commands of a copy use the connection, so it may block the process.
    this.#db.exec('PRAGMA busy_timeout = 5000')
  }

  async beginRead(): Promise<void> {
    this.#db.exec('PRAGMA query_only = ON; BEGIN')
    // The first read of the transaction decides which state it sees.
    this.#all('SELECT count(*) AS n FROM sqlite_master')
  }

  async beginWrite(): Promise<void> {
    // Rows may arrive before those that they refer to. The commit checks all of them.
    this.#db.exec('PRAGMA foreign_keys = OFF')
    try {
      this.#db.exec('BEGIN IMMEDIATE')
    } catch (error) {
      throw isBusy(error) ? new DataError('it is in use. Stop svc on it') : error
    }
  }

  async applied(): Promise<AppliedRow[] | null> {
    const found = this.#all('SELECT 1 FROM sqlite_master WHERE name = ?', bookkeeping)
    return found.length === 0 ? null : (this.#db.prepare(applied).all() as AppliedRow[])
  }

  async tables(): Promise<Table[]> {
    const found = this.#all(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )
    const tables = found.map(([name]) => String(name)).filter((name) => name !== bookkeeping)
    const references = tables.flatMap((from) =>
      this.#all('SELECT "table" FROM pragma_foreign_key_list(?)', from).map(([to]) => ({ from, to: String(to) })),
    )
    const columnsOf = (table: string) =>
      this.#all('SELECT name, type FROM pragma_table_info(?)', table).map(([name, type]) => ({
        name: String(name),
        kind: kindOf(String(type), `Column ${name} of table ${table}`),
      }))
    return sortTables(
      tables.map((name) => ({ name, columns: columnsOf(name) })),
      references,
    )
  }

  async count(table: Table): Promise<number> {
    return Number(this.#all(`SELECT count(*) FROM "${table.name}"`)[0]?.[0])
  }

  async *rows(table: Table, batch: number): AsyncIterable<Row[]> {
    const sql = `SELECT rowid, ${names(table)} FROM "${table.name}" WHERE rowid > ? ORDER BY rowid LIMIT ${batch}`
    let last: unknown = -(2n ** 63n)
    for (;;) {
      const found = this.#all(sql, last)
      if (found.length > 0) yield found.map(([, ...values]) => readRow(table, values, fromSqlite))
      if (found.length < batch) return
      last = found.at(-1)?.[0]
    }
  }

  async insert(table: Table, rows: readonly Row[]): Promise<void> {
    const places = table.columns.map(() => '?').join(', ')
    const statement = this.#db.prepare(`INSERT INTO "${table.name}" (${names(table)}) VALUES (${places})`)
    for (const row of rows) statement.run(row.map((value, at) => toSqlite(value, table.columns[at]?.kind ?? 'text')))
  }

  async lastId(table: Table): Promise<string | null> {
    const [row] = this.#all('SELECT seq FROM sqlite_sequence WHERE name = ?', table.name)
    return row ? String(row[0]) : null
  }

  async setLastId(table: Table, id: string): Promise<void> {
    const [definition] = this.#all("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", table.name)
    if (!/\bAUTOINCREMENT\b/i.test(String(definition?.[0]))) return
    this.#db.prepare('DELETE FROM sqlite_sequence WHERE name = ?').run([table.name])
    this.#db.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)').run([table.name, BigInt(id)])
  }

  async commit(): Promise<void> {
    const orphans = this.#all('PRAGMA foreign_key_check')
    if (orphans.length > 0) throw new DataError(`${orphans.length} rows refer to rows that do not exist.`)
    this.#db.exec('COMMIT')
  }

  async close(): Promise<void> {
    if (this.#db.inTransaction) this.#db.exec('ROLLBACK')
    this.#db.close()
  }

  #all(sql: string, ...values: unknown[]): unknown[][] {
    return this.#db.prepare(sql).safeIntegers(true).raw(true).all(values) as unknown[][]
  }
}
