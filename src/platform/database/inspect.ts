import { existsSync } from 'node:fs'
import pg from 'pg'
import { openSqliteReader } from './database.ts'
import { type AppliedRow, applied, appliedOf } from './migrate.ts'
import { type Engine, migrationsFolder, pendingMigrations, readMigrations } from './migrations.ts'
import { connectClient, connectionOptions } from './postgresql-client.ts'

/** State of a database. */
interface Inspection {
  exists: boolean
  /** Number of migrations that the next start applies. */
  pending: number
  /** How far the clock of the database is ahead of this process, in milliseconds; null with SQLite. */
  ahead: number | null
}

interface Place {
  engine: Engine
  url: string
  file: string | null
}

/** Connects to the database and compares its schema with this version, without changing anything. */
export async function inspectDatabase({ engine, url, file }: Place): Promise<Inspection> {
  return engine === 'sqlite' ? inspectSqlite(file ?? '') : inspectPostgresql(url)
}

const pendingOf = (engine: Engine, rows: AppliedRow[]): number =>
  pendingMigrations(readMigrations(migrationsFolder(engine)), rows.map(appliedOf)).length

function inspectSqlite(file: string): Inspection {
  if (!existsSync(file)) return { exists: false, pending: 0, ahead: null }
  const db = openSqliteReader(file)
  try {
    const isMigrated = db.prepare("SELECT 1 FROM sqlite_master WHERE name = '_prisma_migrations'").get() !== undefined
    const rows = isMigrated ? (db.prepare(applied).all() as AppliedRow[]) : []
    return { exists: true, pending: pendingOf('sqlite', rows), ahead: null }
  } finally {
    db.close()
  }
}

async function inspectPostgresql(url: string): Promise<Inspection> {
  const client = new pg.Client({
    ...connectionOptions(url),
    application_name: 'svc doctor',
    query_timeout: 5_000,
  })
  // A lost connection also rejects the query.
  client.on('error', () => undefined)
  await connectClient(client)
  try {
    const { rows } = await client.query<{ there: boolean; now: string }>(
      `SELECT to_regclass('_prisma_migrations') IS NOT NULL AS there, extract(epoch FROM clock_timestamp()) * 1000 AS now`,
    )
    const found = rows[0]?.there ? (await client.query<AppliedRow>(applied)).rows : []
    return { exists: true, pending: pendingOf('postgresql', found), ahead: Number(rows[0]?.now) - Date.now() }
  } finally {
    await client.end()
  }
}
