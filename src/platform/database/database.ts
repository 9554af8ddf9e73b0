import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import type Sqlite from 'libsql'
import type pg from 'pg'
import { Dependency } from '../dependencies.ts'
import type { Prisma, PrismaClient } from '../generated/postgresql/client.ts'
import { withEffects } from './after-commit.ts'
import type { MigrationLog } from './migrate.ts'
import type { Engine } from './migrations.ts'
import { withRetries } from './retry.ts'
import { isUnavailable } from './unavailable.ts'

/** Client inside a transaction. */
export type Tx = Prisma.TransactionClient

/** The database, for either engine. */
export interface Database {
  engine: Engine
  prisma: PrismaClient
  /** Connection pool; PostgreSQL only. */
  pg?: pg.Pool
  /** Statements of the pool are prepared once for each connection. */
  usesStatements?: boolean
  /** Database file; SQLite only. */
  file?: string
  /** Whether it works. */
  state: Dependency
  /** Server time in Unix milliseconds; PostgreSQL only. */
  serverTime?(): Promise<number>
  /** Logs that a transaction is retried after a conflict. */
  noteConflict?(error: unknown): void
  /** Rejects if the database does not respond. */
  ping(): Promise<void>
  /** Runs `work` in a transaction, and again after a conflict. Log lines and metrics of `work` follow the COMMIT. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Aborted when the process stops: a job that works in batches ends after the current one. */
  closing?: AbortSignal
  close(): Promise<void>
}

export interface DatabaseOptions {
  engine: Engine
  url: string
  /** The URL of new connections to PostgreSQL, whose credentials may change. Default: `url`. */
  currentUrl?: () => string
  /** SQLite file. Default: the path in `url`. */
  file?: string | undefined
  logger?: MigrationLog | undefined
  /** Connections to PostgreSQL for transactions. Default: 10. */
  connections?: number
  /** Prepares statements once for each connection to PostgreSQL. Default: true. */
  prepared_statements?: boolean
  /** How long to wait for a PostgreSQL that starts, in milliseconds. Default: 0. */
  patience?: number
  /** Default: a new client. */
  openClient?: OpenClient
}

/** Options of a client. */
export interface ClientOptions {
  adapter: NonNullable<Prisma.PrismaClientOptions['adapter']>
  errorFormat: 'minimal'
  transactionOptions: typeof TRANSACTION_LIMITS
}

/** Returns a client of a generated class. */
export type OpenClient = <C>(Client: new (options: ClientOptions) => C, options: ClientOptions) => C

const newClient: OpenClient = (Client, options) => new Client(options)

const clientOptions = (adapter: ClientOptions['adapter']): ClientOptions => ({
  adapter,
  errorFormat: 'minimal',
  transactionOptions: TRANSACTION_LIMITS,
})

// SQLite runs transactions one after another, so the wait must cover a burst.
const TRANSACTION_LIMITS = { maxWait: 10_000, timeout: 10_000 }

/** Opens the database, applies pending migrations, and loads the client of the engine. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  return options.engine === 'sqlite' ? openSqlite(options) : openPostgresql(options)
}

/** Opens a read-only connection to the SQLite file, for synchronous lookups. */
export function openSqliteReader(file: string): Sqlite.Database {
  // Loaded on demand, so that a server on PostgreSQL never loads the native module.
  const Connection: typeof Sqlite = createRequire(import.meta.url)('libsql')
  const db = new Connection(file)
  // Readers do not block in WAL mode; this covers a recovery.
  db.exec('PRAGMA busy_timeout = 1000')
  db.exec('PRAGMA query_only = ON')
  return db
}

async function openSqlite({ url, file, logger, openClient = newClient }: DatabaseOptions): Promise<Database> {
  const path = resolve(file ?? url.replace(/^file:/, ''))
  const [{ PrismaClient }, { SqliteAdapter }, { prepareSqliteFile }] = await Promise.all([
    import('../generated/sqlite/client.ts'),
    import('./sqlite-client.ts'),
    import('./sqlite.ts'),
  ])
  await prepareSqliteFile(path, logger)
  const client = openClient(PrismaClient, clientOptions(new SqliteAdapter(path)))
  // Sound: both clients are generated from the same models, which use no engine-specific types.
  const prisma = client as unknown as PrismaClient
  await prisma.$connect()
  const state = new Dependency('database', logger)
  const { transaction, ...others } = operations(prisma, logger)
  return {
    engine: 'sqlite',
    file: path,
    state,
    ...others,
    async transaction(work) {
      try {
        const result = await transaction(work)
        state.worked()
        return result
      } catch (error) {
        if (isUnavailable(error)) state.failed(error)
        throw error
      }
    },
    close: () => prisma.$disconnect(),
  }
}

async function openPostgresql(options: DatabaseOptions): Promise<Database> {
  const [{ PrismaClient }, { PrismaPg }, { openPostgresqlPool, preparePostgresql }, { statementNames }] =
    await Promise.all([
      import('../generated/postgresql/client.ts'),
      import('@prisma/adapter-pg'),
      import('./postgresql.ts'),
      import('./statement-names.ts'),
    ])
  const { url, logger, connections = 10, openClient = newClient, prepared_statements: usesStatements = true } = options
  const state = new Dependency('database', logger)
  await preparePostgresql(url, { log: logger, usesStatements, patience: options.patience })
  const pool = openPostgresqlPool(options.currentUrl ?? (() => url), { state, max: connections })
  const naming = usesStatements ? { statementNameGenerator: statementNames() } : {}
  const prisma = openClient(PrismaClient, clientOptions(new PrismaPg(pool, naming)))
  await prisma.$connect()
  const close = async () => {
    await prisma.$disconnect()
    await pool.end()
  }
  const serverTime = async () => {
    const { rows } = await pool.query('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now')
    return Number(rows[0]?.now)
  }
  return { engine: 'postgresql', pg: pool, usesStatements, serverTime, state, ...operations(prisma, logger), close }
}

function operations(prisma: PrismaClient, log?: MigrationLog) {
  const noteConflict = (error: unknown) => log?.info({ err: error }, 'retrying database transaction after a conflict')
  return {
    prisma,
    noteConflict,
    async ping() {
      await prisma.$queryRaw`SELECT 1`
    },
    transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
      return withRetries(
        () => withEffects((within) => prisma.$transaction((tx) => within(() => work(tx)))),
        noteConflict,
      )
    },
  }
}
