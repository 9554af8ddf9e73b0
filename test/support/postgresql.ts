import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { sha256Hex } from '../../src/platform/crypto/hash.ts'
import { type Engine, migrationsFolder, readMigrations } from '../../src/platform/database/migrations.ts'
import { preparePostgresql } from '../../src/platform/database/postgresql.ts'
import { openSqliteConnection, prepareSqliteFile } from '../../src/platform/database/sqlite.ts'
import { startPostgresql } from './postgresql-server.ts'
import { until } from './until.ts'

/** The engine of this run of the suite. */
export const testEngine: Engine = process.env.SVC_TEST_ENGINE === 'postgresql' ? 'postgresql' : 'sqlite'

/** A separate database for one test, empty and migrated unless it is bare. */
export interface TestDatabase {
  engine: Engine
  /** For `openDatabase`, or `DATABASE_URL`. */
  url: string
  /** The file; only on SQLite. */
  file?: string
  drop(): Promise<void>
  /** Keeps the database for a later test of this process, which gets it empty. */
  release(): Promise<void>
}

const TEMPLATE_LOCK = 72707370

/** In memory where the system offers enough, because SQLite waits for the disk at each commit. */
const memory = hasSharedMemory() ? '/dev/shm' : tmpdir()

function hasSharedMemory(): boolean {
  if (!existsSync('/dev/shm')) return false
  const { bavail, bsize } = statfsSync('/dev/shm')
  return bavail * bsize > 1024 ** 3
}

/** Identifies the state to which the migrations lead. */
const stateOf = (engine: Engine): string =>
  sha256Hex(
    readMigrations(migrationsFolder(engine))
      .map(({ checksum }) => checksum)
      .join(),
  ).slice(0, 16)

let count = 0
let ownServer: Promise<string> | undefined
let sqliteTemplate: Promise<string> | undefined
let postgresqlTemplate: Promise<string> | undefined

/** Creates a fresh database on the engine of this run; a `bare` one has no tables yet. */
export async function createTestDatabase(options: { bare?: boolean } = {}): Promise<TestDatabase> {
  return testEngine === 'sqlite' ? createFile(options.bare) : createOnServer(options.bare)
}

async function createFile(bare = false): Promise<TestDatabase> {
  const folder = temporaryFolder()
  const file = join(folder, 'svc.db')
  if (!bare) {
    sqliteTemplate ??= migratedFile()
    copyFileSync(await sqliteTemplate, file)
  }
  const drop = async () => rmSync(folder, { recursive: true, force: true })
  return { engine: 'sqlite', url: `file:${file}`, file, drop, release: drop }
}

/** One file for all processes that test this state of the migrations. */
async function migratedFile(): Promise<string> {
  const shared = join(memory, `svc-test-${stateOf('sqlite')}.db`)
  if (existsSync(shared)) return shared
  const file = join(temporaryFolder(), 'template.db')
  await prepareSqliteFile(file)
  // Only this one file is copied.
  const db = openSqliteConnection(file)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  // In one step, so that no other process copies half of it.
  renameSync(file, shared)
  return shared
}

const folders: string[] = []

function removeFolders(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(memory, 'svc-test-'))
  if (folders.length === 0) process.once('exit', removeFolders)
  folders.push(folder)
  return folder
}

/** Released databases. Creating and dropping one takes thirty times longer than deleting its rows. */
const released: string[] = []

async function createOnServer(bare = false): Promise<TestDatabase> {
  const server = await serverUrl()
  const name = (bare ? null : await reuse(server)) ?? (await createFrom(server, bare))
  const drop = () => asAdmin(server, async (admin) => void (await admin.query(`DROP DATABASE ${name} WITH (FORCE)`)))
  return { engine: 'postgresql', url: urlOf(server, name), drop, release: async () => void released.push(name) }
}

async function createFrom(server: string, bare: boolean): Promise<string> {
  const name = `test_${process.pid}_${++count}`
  if (!bare) postgresqlTemplate ??= migratedDatabase(server)
  const template = bare ? 'template0' : await postgresqlTemplate
  await asAdmin(server, (admin) => admin.query(`CREATE DATABASE ${name} TEMPLATE ${template}`))
  return name
}

const objects = `SELECT relname AS name, relkind AS kind FROM pg_class
  WHERE relnamespace = 'public'::regnamespace AND relname <> '_prisma_migrations' ORDER BY relname`

/** The tables, indexes and sequences of every migrated database. */
let expected: string | undefined

/** Empties a released database. Returns null if there is none that has all its tables. */
async function reuse(server: string): Promise<string | null> {
  const name = released.pop()
  if (name === undefined) return null
  return asAdmin(urlOf(server, name), async (admin) => {
    // Connections of the last test end at any time.
    await until(async () => {
      const others = 'FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()'
      return (await admin.query(`SELECT pg_terminate_backend(pid) ${others}`)).rowCount === 0
    })
    const { rows } = await admin.query<{ name: string; kind: string }>(objects)
    expected ??= await objectsOf(server)
    if (JSON.stringify(rows) !== expected) return null
    const named = (kind: string) => rows.filter((row) => row.kind === kind).map((row) => `"${row.name}"`)
    await admin.query(
      [
        'SET session_replication_role = replica',
        ...named('r').map((table) => `DELETE FROM ${table}`),
        ...named('S').map((sequence) => `SELECT setval('${sequence}', 1, false)`),
      ].join(';'),
    )
    return name
  })
}

async function objectsOf(server: string): Promise<string> {
  const template = await migratedDatabase(server)
  return asAdmin(urlOf(server, template), async (admin) => JSON.stringify((await admin.query(objects)).rows))
}

// Made once for each state of the migrations, by the first process that needs it.
async function migratedDatabase(server: string): Promise<string> {
  const name = `template_${stateOf('postgresql')}`
  await asAdmin(server, async (admin) => {
    await admin.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK])
    const { rowCount } = await admin.query('SELECT 1 FROM pg_database WHERE datname = $1', [name])
    if (rowCount) return
    // Renamed when complete: an existing name is a template that can be copied.
    const draft = `draft_${process.pid}_${Date.now()}`
    await admin.query(`CREATE DATABASE ${draft}`)
    await preparePostgresql(urlOf(server, draft))
    await admin.query(`ALTER DATABASE ${draft} RENAME TO ${name}`)
  })
  return name
}

async function asAdmin<T>(server: string, work: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client({ connectionString: server })
  await admin.connect()
  try {
    return await work(admin)
  } finally {
    await admin.end()
  }
}

// A file that runs alone has no suite that started a server.
async function serverUrl(): Promise<string> {
  const given = process.env.SVC_TEST_POSTGRES_URL
  if (given) return given
  ownServer ??= startPostgresql().then((server) => server.url)
  return ownServer
}

function urlOf(server: string, database: string): string {
  const url = new URL(server)
  url.pathname = `/${database}`
  // On a busy machine, a connection may take longer than svc waits by default.
  url.searchParams.set('connect_timeout', '60')
  return url.href
}
