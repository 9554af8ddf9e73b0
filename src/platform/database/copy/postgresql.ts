import pg from 'pg'
import { type AppliedRow, applied } from '../migrate.ts'
import { connectClient, connectionOptions } from '../postgresql-client.ts'
import { bookkeeping, type CopyConnection, sortTables } from './connection.ts'
import { fromPostgresql, kindOf, postgresqlTypes, type Row, readRow, type Table, toPostgresql } from './values.ts'

/** Values stay in the text format of PostgreSQL. */
const asText = { getTypeParser: () => (value: string | Buffer) => value }

const quoted = (name: string): string => `"${name}"`
const names = ({ columns }: Table): string => columns.map(({ name }) => quoted(name)).join(', ')

const columnQuery = `SELECT c.table_name, c.column_name, c.data_type FROM information_schema.columns c
  JOIN information_schema.tables t USING (table_schema, table_name)
  WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' AND c.table_name <> '${bookkeeping}'`

const referenceQuery = `SELECT f.relname, t.relname FROM pg_constraint c
  JOIN pg_class f ON f.oid = c.conrelid JOIN pg_class t ON t.oid = c.confrelid
  WHERE c.contype = 'f' AND f.relnamespace = current_schema()::regnamespace`

const settings = [
  "SET LOCAL datestyle = 'ISO, YMD'",
  "SET LOCAL bytea_output = 'hex'",
  // No timeouts, because the other database of the copy may be slow.
  'SET LOCAL statement_timeout = 0',
  'SET LOCAL idle_in_transaction_session_timeout = 0',
].join('; ')

/** A connection to a database of PostgreSQL. */
export class PostgresqlCopy implements CopyConnection {
  readonly #client: pg.Client

  private constructor(client: pg.Client) {
    this.#client = client
  }

  static async open(url: string): Promise<PostgresqlCopy> {
    const client = new pg.Client({
      ...connectionOptions(url),
      application_name: 'svc copy',
    })
    // A lost connection also rejects the query.
    client.on('error', () => undefined)
    await connectClient(client)
    return new PostgresqlCopy(client)
  }

  async beginRead(): Promise<void> {
    await this.#client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${settings}`)
  }

  async beginWrite(tables: readonly Table[]): Promise<void> {
    await this.#client.query(`BEGIN; ${settings}; SET LOCAL lock_timeout = '5s'`)
    const all = tables.map(({ name }) => quoted(name)).join(', ')
    if (all !== '') await this.#client.query(`LOCK TABLE ${all} IN EXCLUSIVE MODE`)
  }

  async applied(): Promise<AppliedRow[] | null> {
    const [found] = await this.#all(`SELECT to_regclass('${bookkeeping}')`)
    return found?.[0] ? (await this.#client.query<AppliedRow>(applied)).rows : null
  }

  async tables(): Promise<Table[]> {
    const columns = Map.groupBy(await this.#all(columnQuery), ([table]) => String(table))
    const references = (await this.#all(referenceQuery)).map(([from, to]) => ({ from: String(from), to: String(to) }))
    const tables = [...columns].map(([name, found]) => ({
      name,
      columns: found.map(([, column, type]) => ({
        name: String(column),
        kind: kindOf(String(type), `Column ${column} of table ${name}`),
      })),
    }))
    return sortTables(tables, references)
  }

  async count(table: Table): Promise<number> {
    return Number((await this.#all(`SELECT count(*) FROM ${quoted(table.name)}`))[0]?.[0])
  }

  async *rows(table: Table, batch: number): AsyncIterable<Row[]> {
    await this.#client.query(`DECLARE copied NO SCROLL CURSOR FOR SELECT ${names(table)} FROM ${quoted(table.name)}`)
    for (;;) {
      const found = await this.#all(`FETCH ${batch} FROM copied`)
      if (found.length > 0)
        // Sound: every value is text.
        yield found.map((values) =>
          readRow(table, values, (value, kind) => fromPostgresql(value as string | null, kind)),
        )
      if (found.length < batch) break
    }
    await this.#client.query('CLOSE copied')
  }

  async insert(table: Table, rows: readonly Row[]): Promise<void> {
    const { columns } = table
    const lists = columns.map(({ kind }, at) => `$${at + 1}::${postgresqlTypes[kind]}[]`)
    await this.#client.query(
      `INSERT INTO ${quoted(table.name)} (${names(table)}) SELECT * FROM unnest(${lists.join(', ')})`,
      columns.map(({ kind }, at) => rows.map((row) => toPostgresql(row[at] ?? null, kind))),
    )
  }

  async lastId(table: Table): Promise<string | null> {
    const sequence = await this.#sequenceOf(table)
    if (!sequence) return null
    const [row] = await this.#all(`SELECT last_value FROM ${sequence} WHERE is_called`)
    return row ? String(row[0]) : null
  }

  async setLastId(table: Table, id: string): Promise<void> {
    const sequence = await this.#sequenceOf(table)
    if (sequence) await this.#client.query('SELECT setval($1::text::regclass, $2::bigint)', [sequence, id])
  }

  async #sequenceOf(table: Table): Promise<string | null> {
    if (!table.columns.some(({ name }) => name === 'id')) return null
    const [row] = await this.#all(`SELECT pg_get_serial_sequence('${quoted(table.name)}', 'id')`)
    return row?.[0] ? String(row[0]) : null
  }

  async commit(): Promise<void> {
    await this.#client.query('COMMIT')
  }

  async close(): Promise<void> {
    // The server rolls an open transaction back.
    await this.#client.end()
  }

  async #all(text: string): Promise<unknown[][]> {
    return (await this.#client.query({ text, rowMode: 'array', types: asText })).rows
  }
}
