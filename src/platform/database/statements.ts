import type { Database, Tx } from './database.ts'
import { withRetries } from './retry.ts'

/** Statement with numbered parameters `$1`, `$2`, …, prepared under its name if the configuration allows it. */
export interface Statement {
  name: string
  text: string
}

/** Where a statement runs: on the database or inside a transaction. */
export type Connection = Pick<Database, 'engine' | 'pg' | 'usesStatements' | 'noteConflict'> & { prisma: Tx }

/** Allowed parameter types. Dates are numbers. */
export type Value = string | number | bigint | null

/** PostgreSQL also takes arrays. */
type Values = (Value | Value[])[]

export type Row = Record<string, unknown>

/** Runs a statement without the ORM overhead; returns the number of changed rows. */
export async function execute(connection: Connection, statement: Statement, values: Values): Promise<number> {
  const { pg, prisma, noteConflict } = connection
  // After a conflict, a single statement can run again.
  if (pg)
    return (await withRetries(() => pg.query(forDriver(connection, statement, values)), noteConflict)).rowCount ?? 0
  return prisma.$executeRawUnsafe(textFor(connection, statement.text), ...values)
}

/** Runs a statement that returns rows. */
export async function query(connection: Connection, statement: Statement, values: Values): Promise<Row[]> {
  const { pg, prisma, noteConflict } = connection
  if (pg) return (await withRetries(() => pg.query(forDriver(connection, statement, values)), noteConflict)).rows
  return prisma.$queryRawUnsafe<Row[]>(textFor(connection, statement.text), ...values)
}

/** Omits the name if statements are not prepared. PostgreSQL then parses and plans the statement for each call. */
const forDriver = ({ usesStatements }: Connection, { name, text }: Statement, values: Values) =>
  usesStatements ? { name, text, values } : { text, values }

/** Formats the numbered parameters of a statement for the engine. */
export const textFor = ({ engine }: Pick<Database, 'engine'>, text: string): string =>
  engine === 'sqlite' ? text.replace(/\$(?=\d)/g, '?') : text

/**
 * Formats ids as an array for PostgreSQL. For a JSON list, the planner would expect a hundred rows, and read the whole
 * table for a single id.
 */
export const arrayLiteral = (ids: readonly (string | number | bigint)[]): string => `{${ids.join(',')}}`
