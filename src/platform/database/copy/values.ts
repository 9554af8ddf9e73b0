/** Type of a column, the same for both engines. */
export type Kind = 'text' | 'integer' | 'boolean' | 'date' | 'bytes'

/** A column of a table. */
interface Column {
  name: string
  kind: Kind
}

/** A table with its columns in alphabetical order. */
export interface Table {
  name: string
  columns: readonly Column[]
}

/**
 * A row in a form that does not depend on the engine: integers in decimal, booleans as 0 or 1, dates as Unix
 * milliseconds, bytes in hexadecimal.
 */
export type Row = readonly (string | null)[]

/** The data cannot be copied; the message says why and what to do. */
export class DataError extends Error {
  override name = 'DataError'
}

const kinds: readonly (readonly [RegExp, Kind])[] = [
  [/^(text|character varying)/, 'text'],
  [/^(bigint|integer|smallint)$/, 'integer'],
  [/^boolean$/, 'boolean'],
  [/^(datetime|timestamp)/, 'date'],
  [/^(bytea|blob)$/, 'bytes'],
]

/** Returns the kind of a column of a declared type. Throws a DataError for a type that no model of svc uses. */
export function kindOf(declared: string, where: string): Kind {
  const found = kinds.find(([pattern]) => pattern.test(declared.toLowerCase()))
  if (found) return found[1]
  throw new DataError(`${where} has the type ${declared}, which no table of svc uses.`)
}

const milliseconds = (stamp: string): string => {
  const value = Date.parse(stamp)
  if (Number.isNaN(value)) throw new DataError('a date is not readable')
  return String(value)
}

/** Reads a value that the driver of SQLite returned. */
export function fromSqlite(value: unknown, kind: Kind): string | null {
  if (value === null || value === undefined) return null
  if (Buffer.isBuffer(value)) return value.toString(kind === 'bytes' ? 'hex' : 'utf8')
  // Dates are text, or numbers in rows that another program wrote.
  if (kind === 'date' && typeof value === 'string') return milliseconds(value)
  return String(value)
}

/** Returns the value as SQLite stores it. */
export function toSqlite(value: string | null, kind: Kind): string | bigint | Buffer | null {
  if (value === null) return null
  if (kind === 'integer' || kind === 'boolean') return BigInt(value)
  if (kind === 'bytes') return Buffer.from(value, 'hex')
  return kind === 'date' ? new Date(Number(value)).toISOString().replace('Z', '+00:00') : value
}

/** Reads a value in the text format of PostgreSQL. */
export function fromPostgresql(value: string | null, kind: Kind): string | null {
  if (value === null) return null
  if (kind === 'boolean') return value === 't' ? '1' : '0'
  if (kind === 'bytes') return value.slice('\\x'.length)
  return kind === 'date' ? milliseconds(`${value.replace(' ', 'T')}Z`) : value
}

/** Returns the value in the text format of PostgreSQL. */
export function toPostgresql(value: string | null, kind: Kind): string | null {
  if (value === null) return null
  if (kind === 'boolean') return value === '1' ? 't' : 'f'
  if (kind === 'bytes') return `\\x${value}`
  return kind === 'date' ? new Date(Number(value)).toISOString().replace('T', ' ').replace('Z', '') : value
}

/** The types of PostgreSQL for the kinds. */
export const postgresqlTypes = {
  text: 'text',
  integer: 'bigint',
  boolean: 'boolean',
  date: 'timestamp',
  bytes: 'bytea',
} as const satisfies Record<Kind, string>

/** Reads a row. Errors name the table and the column, but not the value. */
export function readRow(table: Table, values: readonly unknown[], read: (value: unknown, kind: Kind) => string | null) {
  return table.columns.map(({ name, kind }, at) => {
    try {
      return read(values[at], kind)
    } catch (error) {
      if (!(error instanceof DataError)) throw error
      throw new DataError(`Column ${name} of table ${table.name}: ${error.message}.`, { cause: error })
    }
  })
}
