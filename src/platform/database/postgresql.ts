import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Dependency, reasonOf } from '../dependencies.ts'
import { type MigrationLog, migratePostgresql } from './migrate.ts'
import { migrationsFolder } from './migrations.ts'
import { refuseDuringOutage } from './outage.ts'
import { requireStatements } from './pooler.ts'
import { connectClient, connectionOptions, messagesOf, poolOptions } from './postgresql-client.ts'
import { isUnavailable } from './unavailable.ts'

/** Maximum time that work may hold a connection, in milliseconds; exceeds the transaction limit. */
const maxUse = 12_000

/** Opens a connection pool, which connects on first use. */
export function openPostgresqlPool(
  url: () => string,
  options: { max?: number; state?: Dependency; maxUse?: number } = {},
): pg.Pool {
  const pool = new pg.Pool({
    ...poolOptions(url),
    application_name: 'svc',
    max: options.max ?? 10,
    idleTimeoutMillis: 30_000,
  })
  limitUses(pool, options.maxUse ?? maxUse)
  const { state = new Dependency('database', undefined) } = options
  refuseDuringOutage(pool, state)
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

/** Delay between attempts to connect to a server that starts, in milliseconds. */
const retryDelay = 500

/** Repeats `connect` for up to `patience` milliseconds while the server starts, or has no address yet. */
async function connectWithin<T>(patience: number, connect: () => Promise<T>, log?: MigrationLog): Promise<T> {
  const end = performance.now() + patience
  for (let isNoted = false; ; isNoted = true) {
    try {
      return await connect()
    } catch (error) {
      if (!isUnavailable(error) || performance.now() >= end) throw error
      const text = `the database does not accept connections, trying for ${patience / 1000} s`
      if (!isNoted) log?.warn({ reason: reasonOf(error) }, text)
    }
    await sleep(retryDelay)
  }
}

/** Applies pending migrations over a separate connection. */
export async function preparePostgresql(
  url: string,
  {
    log,
    usesStatements = true,
    patience = 0,
    folder = migrationsFolder('postgresql'),
  }: {
    log?: MigrationLog | undefined
    usesStatements?: boolean
    patience?: number | undefined
    folder?: string
  } = {},
): Promise<void> {
  const connect = async (options: pg.ClientConfig = {}) => {
    const client = new pg.Client({
      ...connectionOptions(url),
      application_name: 'svc migrations',
      ...options,
    })
    client.on('error', (error) => log?.warn({ err: error }, 'migration connection lost'))
    await connectClient(client)
    return client
  }
  const client = await connectWithin(patience, connect, log)
  try {
    if (usesStatements) await requireStatements(client, () => connect({ query_timeout: 2_000 }))
    await migratePostgresql(client, { folder, log, connect })
  } finally {
    await client.end()
  }
}
