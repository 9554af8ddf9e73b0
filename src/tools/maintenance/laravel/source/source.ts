/** A row of another application's database. Every value is text, in the form that its engine prints. */
export type SourceRow = Readonly<Record<string, string | null>>

/** A table to read, with the names that the columns have in the result. */
export interface SourceTable {
  name: string
  /** Column of the table by its name in the result. */
  columns: Readonly<Record<string, string>>
}

/** The database of another application, read in one snapshot. */
export interface ForeignSource {
  /** Returns the columns of a table; empty if there is no such table. */
  columnsOf(table: string): Promise<ReadonlySet<string>>
  /** Returns the first number of the result, or 0. */
  count(table: string, where?: { present: readonly string[] }): Promise<number>
  /** Returns the next rows by `id`. */
  page(table: SourceTable, after: string | null, limit: number): Promise<SourceRow[]>
  /** Returns the rows whose column has one of the values. */
  matching(table: SourceTable, column: string, values: readonly string[]): Promise<SourceRow[]>
  close(): Promise<void>
}

/** Runs a statement with positional values. */
type Query = (sql: string, values: readonly string[]) => Promise<SourceRow[]>

interface Dialect {
  quote(name: string): string
  /** Placeholder of the value at this position, from 1. */
  placeholder(position: number): string
  /** Selects `name`, the columns of the table in the first value. */
  columnQuery: string
  query: Query
  close(): Promise<void>
}

/** Quotes an identifier with double quotes (SQL-92). */
export const doubleQuoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** Builds the queries of a source in the dialect of its engine. */
export function foreignSource({ quote, placeholder, columnQuery, query, close }: Dialect): ForeignSource {
  const selected = ({ name, columns }: SourceTable): string => {
    const list = Object.entries(columns).map(([as, column]) => `${quote(column)} AS ${quote(as)}`)
    return `SELECT ${list.join(', ')} FROM ${quote(name)}`
  }
  return {
    columnsOf: async (table) => new Set((await query(columnQuery, [table])).map(({ name }) => String(name))),
    async count(table, { present } = { present: [] }) {
      const conditions = present.map((column) => `${quote(column)} IS NOT NULL`)
      const where = conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : ''
      const [row] = await query(`SELECT count(*) AS n FROM ${quote(table)}${where}`, [])
      return Number(row?.n ?? 0)
    },
    page(table, after, limit) {
      const where = after === null ? '' : ` WHERE ${quote('id')} > ${placeholder(1)}`
      const values = after === null ? [] : [after]
      return query(`${selected(table)}${where} ORDER BY ${quote('id')} LIMIT ${limit}`, values)
    },
    async matching(table, column, values) {
      if (values.length === 0) return []
      const list = values.map((_, at) => placeholder(at + 1)).join(', ')
      return query(`${selected(table)} WHERE ${quote(column)} IN (${list})`, values)
    },
    close,
  }
}
