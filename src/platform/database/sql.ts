import { empty, join, raw, type Sql, sqltag as sql } from '@prisma/client/runtime/client'
import { type Connection, query, type Row, type Value } from './statements.ts'

export { empty, join, raw, type Sql, sql }

/** Values of a row to insert with `INSERT … SELECT`, where PostgreSQL does not infer the types of parameters. */
export const asText = (value: string | null): Sql => sql`CAST(${value} AS TEXT)`
export const asBigint = (value: bigint | null): Sql => sql`CAST(${value} AS BIGINT)`
export const asTime = (date: Date | null): Sql => sql`CAST(${date?.toISOString() ?? null} AS TIMESTAMP(3))`

/** Runs composed SQL as a statement that is prepared under this name. Inside a transaction, Prisma chooses the name. */
export const querySql = (connection: Connection, name: string, { text, values }: Sql): Promise<Row[]> =>
  query(connection, { name, text }, values as Value[])
