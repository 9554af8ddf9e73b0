import pg from 'pg'
import { type MigrationLog, migratePostgresql } from './migrate.ts'
import { migrationsFolder } from './migrations.ts'
import { requireStatements } from './pooler.ts'
import { connectionOptions, messagesOf, poolOptions } from './postgresql-client.ts'

/** Maximum time that work may hold a connection, in milliseconds; exceeds the transaction limit. */
const maxUse = 12_000

/** Opens a connection pool, which connects on first use. */
export function openPostgresqlPool(
  url: string,
  options: { max?: number; log?: MigrationLog | undefined; maxUse?: number } = {},
): pg.Pool {
  const pool = new pg.Pool({
    ...poolOptions(url),
    application_name: 'svc',
    max: options.max ?? 10,
    idleTimeoutMillis: 30_000,
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
  const uses = new WeakMap<pg.PoolClient, Use>()
  pool.on('acquire', (client) => {
    const use = uses.get(client) ?? new Use(client, timeout)
    uses.set(client, use)
    use.begin()
  })
  pool.on('release', (_error, client) => uses.get(client)?.end())
}

/** Limits each use of a connection. It keeps one timer, because a new timer for each use costs more. */
class Use {
  readonly #timer: NodeJS.Timeout
  #isActive = false

  constructor(client: pg.PoolClient, timeout: number) {
    const { stream } = messagesOf(client)
    const silence = () => new Error(`the database did not answer within ${timeout} ms`)
    this.#timer = setTimeout(() => {
      if (this.#isActive) stream.destroy(Object.assign(silence(), { code: 'ETIMEDOUT' }))
    }, timeout).unref()
  }

  begin(): void {
    this.#isActive = true
    this.#timer.refresh()
  }

  end(): void {
    this.#isActive = false
  }
}

/** Applies pending migrations over a separate connection. */
export async function preparePostgresql(
  url: string,
  { log, usesStatements = true }: { log?: MigrationLog | undefined; usesStatements?: boolean } = {},
): Promise<void> {
  const connect = async (options: pg.ClientConfig = {}) => {
    const client = new pg.Client({
      ...connectionOptions(url),
      application_name: 'svc migrations',
      ...options,
    })
    client.on('error', (error) => log?.warn({ err: error }, 'migration connection lost'))
    await client.connect()
    return client
  }
  const client = await connect()
  try {
    if (usesStatements) await requireStatements(client, () => connect({ query_timeout: 2_000 }))
    await migratePostgresql(client, { folder: migrationsFolder('postgresql'), log, connect })
  } finally {
    await client.end()
  }
}
