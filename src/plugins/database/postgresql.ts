import pg from 'pg'
import { type MigrationLog, migratePostgresql } from './migrate.ts'
import { migrationsFolder } from './migrations.ts'

/** Opens a pool with the limits svc wants; it connects when first used. */
export function openPostgresqlPool(
  url: string,
  options: { max?: number; log?: MigrationLog | undefined } = {},
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
  // An idle connection that the server closed is replaced at the next use; without a listener it would end the process.
  pool.on('error', (error) => options.log?.warn({ err: error }, 'an idle database connection was lost'))
  return pool
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
