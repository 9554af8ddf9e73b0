import type { Duplex } from 'node:stream'
import pg from 'pg'
import { type MigrationLog, migratePostgresql } from './migrate.ts'
import { migrationsFolder } from './migrations.ts'

/** How long work may hold a connection, in milliseconds: longer than any transaction lasts. */
const longestUse = 12_000

/** Opens a pool with the limits svc wants; it connects when first used. */
export function openPostgresqlPool(
  url: string,
  options: { max?: number; log?: MigrationLog | undefined; longestUse?: number } = {},
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
  limitUses(pool, options.longestUse ?? longestUse)
  // An idle connection that the server closed is replaced at the next use; without a listener it would end the process.
  pool.on('error', (error) => options.log?.warn({ err: error }, 'an idle database connection was lost'))
  return pool
}

/**
 * Cuts connections that a server no longer answers on: TCP alone would wait a quarter of an hour. The connection goes as
 * a whole, because what comes after a statement given up would run inside its transaction.
 */
function limitUses(pool: pg.Pool, timeout: number): void {
  const timers = new WeakMap<pg.PoolClient, NodeJS.Timeout>()
  pool.on('acquire', (client) => {
    // Sound: the driver has it; its types leave it out.
    const { stream } = (client as unknown as { connection: { stream: Duplex } }).connection
    const silence = new Error(`the database did not answer within ${timeout} ms`)
    const giveUp = () => stream.destroy(Object.assign(silence, { code: 'ETIMEDOUT' }))
    timers.set(client, setTimeout(giveUp, timeout))
  })
  pool.on('release', (_error, client) => clearTimeout(timers.get(client)))
}

/** Brings the database's tables up to date, over one connection of its own. */
export async function preparePostgresql(url: string, log?: MigrationLog): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'svc migrations',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  })
  client.on('error', (error) => log?.warn({ err: error }, 'the connection that migrates was lost'))
  await client.connect()
  try {
    await migratePostgresql(client, { folder: migrationsFolder('postgresql'), log })
  } finally {
    await client.end()
  }
}
