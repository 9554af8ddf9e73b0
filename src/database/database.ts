import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import type Sqlite from 'libsql'
import type pg from 'pg'
import type { Prisma, PrismaClient } from '../generated/postgresql/client.ts'
import type { MigrationLog } from './migrate.ts'
import type { Engine } from './migrations.ts'
import { withRetries } from './retry.ts'

/** The client inside a transaction. */
export type Tx = Prisma.TransactionClient

/** The database in use, whichever engine it is. */
export interface Database {
  engine: Engine
  prisma: PrismaClient
  /** The pool under Prisma; only on PostgreSQL. */
  pg?: pg.Pool
  /** The database's file; only on SQLite. */
  file?: string
  /** What the server's clock shows, in unix milliseconds; only on PostgreSQL. */
  serverTime?(): Promise<number>
  /** Logs that work is repeated after a conflict with other work. */
  noteConflict?(error: unknown): void
  /** Fails when the database does not answer. */
  ping(): Promise<void>
  /** Runs the work in a transaction, again from its beginning when the database asks for that: it must have no other effect. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface DatabaseOptions {
  engine: Engine
  url: string
  /** The SQLite file; without it, what `url` names after `file:`. */
  file?: string | undefined
  logger?: MigrationLog | undefined
}

// On SQLite every transaction waits for the one before, so the wait must cover a burst; the work itself is short.
const TRANSACTION_LIMITS = { maxWait: 10_000, timeout: 10_000 }

/** Opens the database, brings its tables up to date, and loads the one client that its engine needs. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  return options.engine === 'sqlite' ? openSqlite(options) : openPostgresql(options)
}

/** Opens a connection to the SQLite file that only reads, for lookups answered synchronously. */
export function openSqliteReader(file: string): Sqlite.Database {
  // Loaded here so that a server on PostgreSQL never has the native module in memory.
  const Connection: typeof Sqlite = createRequire(import.meta.url)('libsql')
  const db = new Connection(file)
  // In WAL mode a reader waits for nobody; this covers the moment of a recovery.
  db.exec('PRAGMA busy_timeout = 1000')
  db.exec('PRAGMA query_only = ON')
  return db
}

async function openSqlite({ url, file, logger }: DatabaseOptions): Promise<Database> {
  const path = resolve(file ?? url.replace(/^file:/, ''))
  const [{ PrismaClient }, { SqliteAdapter }, { prepareSqliteFile }] = await Promise.all([
    import('../generated/sqlite/client.ts'),
    import('./sqlite-client.ts'),
    import('./sqlite.ts'),
  ])
  await prepareSqliteFile(path, logger)
  const client = new PrismaClient({
    adapter: new SqliteAdapter(path),
    errorFormat: 'minimal',
    transactionOptions: TRANSACTION_LIMITS,
  })
  // Sound: both clients are generated from the same models, which use nothing that only one engine has.
  const prisma = client as unknown as PrismaClient
  await prisma.$connect()
  return { engine: 'sqlite', file: path, ...operations(prisma, logger), close: () => prisma.$disconnect() }
}

async function openPostgresql({ url, logger }: DatabaseOptions): Promise<Database> {
  const [{ PrismaClient }, { PrismaPg }, { openPostgresqlPool, preparePostgresql }] = await Promise.all([
    import('../generated/postgresql/client.ts'),
    import('@prisma/adapter-pg'),
    import('./postgresql.ts'),
  ])
  await preparePostgresql(url, logger)
  const pool = openPostgresqlPool(url, { log: logger })
  const prisma = new PrismaClient({
    adapter: new PrismaPg(pool),
    errorFormat: 'minimal',
    transactionOptions: TRANSACTION_LIMITS,
  })
  await prisma.$connect()
  const close = async () => {
    await prisma.$disconnect()
    await pool.end()
  }
  const serverTime = async () => {
    const { rows } = await pool.query('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now')
    return Number(rows[0]?.now)
  }
  return { engine: 'postgresql', pg: pool, serverTime, ...operations(prisma, logger), close }
}

function operations(prisma: PrismaClient, log?: MigrationLog) {
  const noteConflict = (error: unknown) =>
    log?.info({ err: error }, 'a database transaction is repeated after a conflict')
  return {
    prisma,
    noteConflict,
    async ping() {
      await prisma.$queryRaw`SELECT 1`
    },
    transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
      return withRetries(() => prisma.$transaction(work), noteConflict)
    },
  }
}
