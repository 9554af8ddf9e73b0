import type { Database } from './database.ts'
import { withRetries } from './retry.ts'

/** A statement that is prepared once for each connection; its text numbers its parameters `$1`, `$2`, … */
export interface Statement {
  name: string
  text: string
}

/** What a parameter may be; dates go as numbers. */
export type Value = string | number | bigint | null

type Rows = Record<string, unknown>[]

/** Runs a statement past the ORM, which would cost more than all the rest; answers how many rows it changed. */
export async function execute({ pg, prisma }: Database, statement: Statement, values: Value[]): Promise<number> {
  // What clashed with others at the same moment may simply come after them: it is one statement.
  if (pg) return (await withRetries(() => pg.query({ ...statement, values }))).rowCount ?? 0
  return prisma.$executeRawUnsafe(numbered(statement), ...values)
}

/** Runs a statement that answers rows. */
export async function query({ pg, prisma }: Database, statement: Statement, values: Value[]): Promise<Rows> {
  if (pg) return (await withRetries(() => pg.query({ ...statement, values }))).rows
  return prisma.$queryRawUnsafe<Rows>(numbered(statement), ...values)
}

/** The text as SQLite numbers parameters. */
const numbered = ({ text }: Statement): string => text.replace(/\$(?=\d)/g, '?')
