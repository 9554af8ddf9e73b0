import type { Duplex } from 'node:stream'
import pg from 'pg'
import { type MigrationLog, migratePostgresql } from './migrate.ts'
import { migrationsFolder } from './migrations.ts'

/** Maximum time that work may hold a connection, in milliseconds; exceeds the transaction limit. */
const maxUse = 12_000

/** Opens a connection pool, which connects on first use. */
export function openPostgresqlPool(
  url: string,
  options: { max?: number; log?: MigrationLog | undefined; maxUse?: number } = {},
): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'svc',
    max: options.max ?? 10,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  })
  limitUses(pool, options.maxUse ?? maxUse)
  // The pool replaces a lost idle connection. Without a listener, the error would end the process.
  pool.on('error', (error) => options.log?.warn({ err: error }, 'idle database connection lost'))
  return pool
}

/**
 * Closes connections when the server stops responding; TCP would wait 15 minutes. The whole connection closes, because
 * later statements would otherwise run inside the abandoned transaction.
 */
function limitUses(pool: pg.Pool, timeout: number): void {
  const timers = new WeakMap<pg.PoolClient, NodeJS.Timeout>()
  pool.on('acquire', (client) => {
    // Sound: the driver has this property, but its types omit it.
    const { stream } = (client as unknown as { connection: { stream: Duplex } }).connection
    const silence = new Error(`the database did not answer within ${timeout} ms`)
    const giveUp = () => stream.destroy(Object.assign(silence, { code: 'ETIMEDOUT' }))
    timers.set(client, setTimeout(giveUp, timeout))
  })
  pool.on('release', (_error, client) => clearTimeout(timers.get(client)))
}

/** Applies pending migrations over a separate connection. */
export async function preparePostgresql(url: string, log?: MigrationLog): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'svc migrations',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  })
  client.on('error', (error) => log?.warn({ err: error }, 'migration connection lost'))
  await client.connect()
  try {
    await migratePostgresql(client, { folder: migrationsFolder('postgresql'), log })
  } finally {
    await client.end()
  }
}
