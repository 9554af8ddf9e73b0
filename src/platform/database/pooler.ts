import { randomUUID } from 'node:crypto'
import type pg from 'pg'

/** The pooler in front of the database does not fit the configuration; the message says what to do. */
export class PoolerError extends Error {
  override name = 'PoolerError'
}

/** How often svc compares two connections: a busy pooler may give them different server processes by chance. */
const comparisons = 10

/**
 * Throws if a pooler in front of the database loses prepared statements between transactions. `connect` opens another
 * connection.
 */
export async function requireStatements(client: pg.Client, connect: () => Promise<pg.Client>): Promise<void> {
  // Behind a pooler, the connection has the process id of the pooler, not of the server.
  if ((await serverOf(client)) === processOf(client)) return
  if ((await renamesStatements(client)) || !(await sharesServers(client, connect))) return
  throw new PoolerError(
    'database.url leads to a connection pooler in transaction mode, such as PgBouncer, that does not keep prepared ' +
      'statements. Set database.prepared_statements to false, or use PgBouncer 1.21 or later with ' +
      'max_prepared_statements above 0.',
  )
}

// Sound: the driver has this property, but its types omit it.
const processOf = (client: pg.Client): unknown => (client as unknown as { processID: unknown }).processID

async function serverOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  return rows[0]?.pid ?? 0
}

/** Tests whether the pooler keeps prepared statements. Such a pooler gives the statements new names. */
async function renamesStatements(client: pg.Client): Promise<boolean> {
  const name = `svc-${randomUUID()}`
  const text = 'SELECT 1 FROM pg_prepared_statements WHERE name = $1'
  await client.query('BEGIN')
  const { rowCount } = await client.query({ name, text, values: [name] })
  if (rowCount === 1) await client.query(`DEALLOCATE "${name}"`)
  await client.query('COMMIT')
  return rowCount === 0
}

/** Tests whether two open connections take turns on the same process of the server. */
async function sharesServers(client: pg.Client, connect: () => Promise<pg.Client>): Promise<boolean> {
  const other = await connect()
  try {
    const seen = new Map<number, pg.Client>()
    for (let at = 0; at < comparisons; at++) {
      for (const each of [client, other]) {
        const server = await serverOf(each)
        if (seen.size > 0 && (seen.get(server) ?? each) !== each) return true
        seen.set(server, each)
      }
    }
    // Each connection of a pooler in session mode keeps its server.
    return seen.size > 2
  } catch (error) {
    // The pooler is in session mode, and the client holds the only connection of the pool.
    if (error instanceof Error && error.message === 'Query read timeout') return false
    throw error
  } finally {
    await other.end()
  }
}
