import { createHash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Engine = 'postgresql' | 'sqlite'

/** One step of the schema, as it lies in the migrations folder. */
export interface Migration {
  name: string
  script: string
  checksum: string
}

/** One row of `_prisma_migrations`, as far as the runner reads it. */
export interface Applied {
  name: string
  checksum: string
  finished: boolean
  rolledBack: boolean
}

/** A database that this program must not touch; the message says what to do. */
export class MigrationError extends Error {
  override name = 'MigrationError'
}

/** The folder of an engine's migrations, at the package's root whether the program runs from src or from dist. */
export function migrationsFolder(engine: Engine): string {
  return join(import.meta.dirname, '..', '..', 'prisma', 'migrations', engine)
}

/** Reads a migrations folder in the order of application. */
export function readMigrations(folder: string): Migration[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
    .map((name) => {
      // A checkout with Windows line ends is the same migration.
      const script = readFileSync(join(folder, name, 'migration.sql'), 'utf8').replaceAll('\r\n', '\n')
      return { name, script, checksum: createHash('sha256').update(script).digest('hex') }
    })
}

/** Compares the folder with what a database says it has, and returns what is left to apply. */
export function pendingMigrations(migrations: Migration[], applied: Applied[]): Migration[] {
  const counted = applied.filter((row) => !row.rolledBack)
  const failed = counted.find((row) => !row.finished)
  if (failed) {
    throw new MigrationError(
      `The database records that migration ${failed.name} began and never finished. Look at what it left behind, repair ` +
        `it or restore a backup, then delete the migration's row from _prisma_migrations and start again.`,
    )
  }
  const known = new Map(migrations.map((migration) => [migration.name, migration]))
  for (const row of counted) {
    const migration = known.get(row.name)
    if (!migration) {
      throw new MigrationError(
        `The database has migration ${row.name}, which this version of svc does not know: the database is newer than the ` +
          `program. Start the version that migrated it (or a later one), or restore the backup made before the upgrade.`,
      )
    }
    if (migration.checksum !== row.checksum) {
      throw new MigrationError(
        `Migration ${row.name} was edited after it was applied to this database. Restore the file as it was, and make ` +
          `the change with a new migration (npm run db:migration <name>).`,
      )
    }
  }
  const done = new Set(counted.map((row) => row.name))
  return migrations.filter((migration) => !done.has(migration.name))
}

/** The SQL that records a migration, and its parameters in order; `place` writes the engine's n-th placeholder. */
export function recordOf(migration: Migration, place: (n: number) => string): { sql: string; values: string[] } {
  const now = new Date().toISOString().replace('Z', '+00:00')
  return {
    sql:
      'INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count) ' +
      `VALUES (${[1, 2, 3, 4, 5].map(place).join(', ')}, 1)`,
    values: [randomUUID(), migration.checksum, migration.name, now, now],
  }
}
