import type { Tx } from './database.ts'
import type { Engine } from './migrations.ts'

/** Maximum id of a row: a 64-bit signed integer in both engines. Queries with larger ids fail. */
export const maxRowId = 2n ** 63n - 1n

/**
 * Makes a table generate ids above its highest id, after rows were inserted with their own ids. The counter never goes
 * back. SQLite does this itself.
 */
export async function skipIds(tx: Tx, engine: Engine, table: string): Promise<void> {
  if (engine === 'sqlite') return
  await tx.$executeRawUnsafe(
    `SELECT setval(s, GREATEST((SELECT max(id) FROM ${table}), nextval(s))) FROM
       (SELECT pg_get_serial_sequence('${table}', 'id')::regclass AS s) sequences`,
  )
}
