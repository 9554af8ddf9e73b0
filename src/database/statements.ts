import type { Database, Tx } from './database.ts'
import { withRetries } from './retry.ts'

/** A statement that is prepared once for each connection; its text numbers its parameters `$1`, `$2`, … */
export interface Statement {
  name: string
  text: string
}

/** Where a statement runs: on the database, or inside a transaction. */
export type Connection = Pick<Database, 'engine' | 'pg' | 'noteConflict'> & { prisma: Tx }

/** What a parameter may be; dates go as numbers. */
export type Value = string | number | bigint | null

type Rows = Record<string, unknown>[]

/** Runs a statement past the ORM, which would cost more than all the rest; answers how many rows it changed. */
export async function execute(connection: Connection, statement: Statement, values: Value[]): Promise<number> {
  const { pg, prisma, noteConflict } = connection
  // After a conflict it can simply run again: it is one statement.
  if (pg) return (await withRetries(() => pg.query({ ...statement, values }), noteConflict)).rowCount ?? 0
  return prisma.$executeRawUnsafe(textFor(connection, statement), ...values)
}

/** Runs a statement that answers rows. */
export async function query(connection: Connection, statement: Statement, values: Value[]): Promise<Rows> {
  const { pg, prisma, noteConflict } = connection
  if (pg) return (await withRetries(() => pg.query({ ...statement, values }), noteConflict)).rows
  return prisma.$queryRawUnsafe<Rows>(textFor(connection, statement), ...values)
}

/** The text with its parameters numbered as the engine does. */
const textFor = ({ engine }: Connection, { text }: Statement): string =>
  engine === 'sqlite' ? text.replace(/\$(?=\d)/g, '?') : text
