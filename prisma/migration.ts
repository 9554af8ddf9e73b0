// npm run db:migration <name>: writes the changes of the models as one migration for each engine.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'libsql'
import pg from 'pg'
import { migratePostgresql, migrateSqlite } from '../src/platform/database/migrate.ts'
import { type Engine, migrationsFolder } from '../src/platform/database/migrations.ts'
import { version } from '../src/platform/version.ts'
import { startPostgresql } from '../test/support/postgresql-server.ts'
import { difference } from './difference.ts'

const name = process.argv[2] ?? ''
if (!/^[a-z][a-z0-9]*(_[a-z0-9]+)+$/.test(name) || name.length > 60) {
  fail('Give the migration a name, words joined by _ and the part of svc first: npm run db:migration tokens_add_owner')
}

const scripts: Record<Engine, string> = { sqlite: await sqliteScript(), postgresql: await postgresqlScript() }
if (!scripts.sqlite && !scripts.postgresql) {
  fail('Nothing changed: the migrations already lead to the models in prisma/schema.')
}
const time = new Date().toISOString().replace(/\D/g, '').slice(0, 14)
for (const engine of ['postgresql', 'sqlite'] as const) {
  const folder = join(migrationsFolder(engine), `${time}_${name}`)
  mkdirSync(folder, { recursive: true })
  // A change may affect only one engine; the other gets an empty migration, so that both histories match.
  writeFileSync(
    join(folder, 'migration.sql'),
    `-- Oldest version: ${version}\n${scripts[engine] || '-- Nothing to do on this engine.'}\n`,
  )
  process.stdout.write(`${folder}/migration.sql\n`)
}
process.stdout.write(
  'The first line names the oldest version of svc that runs on the result. ' +
    'Read both before you commit them: a renamed column, for one, shows as a dropped and an added one. An index on an existing ' +
    'table of PostgreSQL needs CREATE INDEX CONCURRENTLY in a migration of its own (docs/upgrading.md).\n',
)

async function sqliteScript(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-migration-'))
  try {
    const file = join(folder, 'migrated.db')
    const db = new Sqlite(file)
    await migrateSqlite(db, { folder: existing('sqlite') })
    db.close()
    return await difference('sqlite', `file:${file}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function postgresqlScript(): Promise<string> {
  const server = await startPostgresql()
  try {
    const connect = async () => {
      const opened = new pg.Client({ connectionString: server.url })
      await opened.connect()
      return opened
    }
    const client = await connect()
    await migratePostgresql(client, { folder: existing('postgresql'), connect })
    await client.end()
    return await difference('postgresql', server.url)
  } finally {
    await server.stop()
  }
}

function existing(engine: Engine): string {
  const folder = migrationsFolder(engine)
  mkdirSync(folder, { recursive: true })
  return folder
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
