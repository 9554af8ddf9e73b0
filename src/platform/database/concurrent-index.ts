import type pg from 'pg'

/** A migration that creates one index while the table stays writable. */
const pattern = /^(?:--.*\n|\s)*CREATE (?:UNIQUE )?INDEX CONCURRENTLY "(\w+)"[^;]*;?\s*$/

/** Returns the name of the index that a migration creates concurrently; null for any other migration. */
export const concurrentIndexOf = (script: string): string | null => pattern.exec(script)?.[1] ?? null

/**
 * Creates the index outside of a transaction, as PostgreSQL requires. An interrupted attempt may have left an invalid index,
 * or a valid index that was not recorded.
 */
export async function createConcurrentIndex(client: pg.Client, name: string, script: string): Promise<void> {
  const { rows } = await client.query<{ valid: boolean }>(
    'SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass($1)',
    [`"${name}"`],
  )
  if (rows[0]?.valid) return
  if (rows[0]) await client.query(`DROP INDEX CONCURRENTLY "${name}"`)
  await client.query(script)
}
