import type { Database } from './database.ts'

/** A column that svc encrypts with a key derived from `app.secret`. */
export interface SealedColumn {
  name: string
  table: string
  /** Primary key, by which the rows are read. */
  key: string
  column: string
  /** Column whose value is needed to decrypt. */
  context: string
}

/** Rows that are read at once. */
const batchSize = 500

/** Calls `visit` with each encrypted text of a column and its context. */
export async function visitSealed(
  { prisma }: Database,
  { table, key, column, context }: SealedColumn,
  visit: (text: string, context: string) => void,
): Promise<void> {
  let after: unknown = null
  for (;;) {
    const rest = after === null ? '' : `AND ${key} > $1`
    const rows = await prisma.$queryRawUnsafe<{ key: unknown; text: string; context: unknown }[]>(
      `SELECT ${key} AS key, ${column} AS text, ${context} AS context FROM ${table}
       WHERE ${column} IS NOT NULL ${rest} ORDER BY ${key} LIMIT ${batchSize}`,
      ...(after === null ? [] : [after]),
    )
    for (const row of rows) visit(row.text, String(row.context))
    if (rows.length < batchSize) return
    after = rows.at(-1)?.key
  }
}
