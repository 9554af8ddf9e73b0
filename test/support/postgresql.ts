import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { sha256Hex } from '../../src/crypto/hash.ts'
import { type Engine, migrationsFolder, readMigrations } from '../../src/database/migrations.ts'
import { preparePostgresql } from '../../src/database/postgresql.ts'
import { openSqliteConnection, prepareSqliteFile } from '../../src/database/sqlite.ts'
import { startPostgresql } from './postgresql-server.ts'

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
  return {
    engine: 'sqlite',
    url: `file:${file}`,
    file,
    drop: async () => rmSync(folder, { recursive: true, force: true }),
  }
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

async function createOnServer(bare = false): Promise<TestDatabase> {
  const server = await serverUrl()
  const name = `test_${process.pid}_${++count}`
  if (!bare) postgresqlTemplate ??= migratedDatabase(server)
  const template = bare ? 'template0' : await postgresqlTemplate
  await asAdmin(server, (admin) => admin.query(`CREATE DATABASE ${name} TEMPLATE ${template}`))
  const drop = () => asAdmin(server, async (admin) => void (await admin.query(`DROP DATABASE ${name} WITH (FORCE)`)))
  return { engine: 'postgresql', url: urlOf(server, name), drop }
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
  return url.href
}
