import { createHash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../version.ts'

export type Engine = 'postgresql' | 'sqlite'

/** A migration in the migrations folder. */
export interface Migration {
  name: string
  script: string
  checksum: string
  /** The oldest version of svc that runs on the result, from the comment `-- Oldest version: 1.2.0`; null for its own. */
  oldest: string | null
}

/** The columns of `_prisma_migrations` that the runner reads. */
export interface Applied {
  name: string
  checksum: string
  finished: boolean
  rolledBack: boolean
  /** The oldest version of svc that runs on the result, as the migration declared it. */
  oldest: string | null
}

/** The database cannot be migrated; the message says what to do. */
export class MigrationError extends Error {
  override name = 'MigrationError'
}

/** Returns the migrations folder of an engine, at the package root for both src and dist. */
export function migrationsFolder(engine: Engine): string {
  return join(import.meta.dirname, '../../..', 'prisma', 'migrations', engine)
}

/** Reads a migrations folder in order. */
export function readMigrations(folder: string): Migration[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
    .map((name) => {
      // Line endings do not change the checksum, so Windows checkouts match.
      const script = readFileSync(join(folder, name, 'migration.sql'), 'utf8').replaceAll('\r\n', '\n')
      const oldest = /^-- Oldest version: (\d+\.\d+\.\d+)$/m.exec(script)?.[1] ?? null
      return { name, script, checksum: createHash('sha256').update(script).digest('hex'), oldest }
    })
}

/** Whether this version runs on the result of a migration that it does not know. */
const runsOn = ({ oldest }: Applied): boolean =>
  oldest !== null && version.localeCompare(oldest, undefined, { numeric: true }) >= 0

/**
 * Returns the pending migrations. Throws a MigrationError if folder and database disagree. A migration of a newer version
 * is accepted if it declares that this version still runs on its result, unless `isExact`.
 */
export function pendingMigrations(migrations: Migration[], applied: Applied[], isExact = false): Migration[] {
  const counted = applied.filter((row) => !row.rolledBack)
  const failed = counted.find((row) => !row.finished)
  if (failed) {
    throw new MigrationError(
      `The database records that migration ${failed.name} started but did not finish. Inspect the database and repair ` +
        `it or restore a backup, then delete the migration's row from _prisma_migrations and start again.`,
    )
  }
  const known = new Map(migrations.map((migration) => [migration.name, migration]))
  for (const row of counted) {
    const migration = known.get(row.name)
    if (!migration) {
      if (row.name < (migrations[0]?.name ?? '')) throw fromDevelopment(row)
      if (!isExact && runsOn(row)) continue
      const needs = row.oldest ? `, which needs svc ${row.oldest} or later` : ''
      throw new MigrationError(
        `The database has migration ${row.name}${needs}, and this version of svc (${version}) does not know it. The database is ` +
          `newer than the program. Start the version that migrated it, or a later one, or restore the backup from before ` +
          `the upgrade.`,
      )
    }
    if (migration.checksum !== row.checksum) {
      throw new MigrationError(
        `Migration ${row.name} was edited after it was applied to this database. Restore the original file, and make ` +
          `the change with a new migration (npm run db:migration <name>).`,
      )
    }
  }
  const done = new Set(counted.map((row) => row.name))
  return migrations.filter((migration) => !done.has(migration.name))
}

/** One migration replaced all those from before the first release. */
const fromDevelopment = ({ name }: Applied): MigrationError =>
  new MigrationError(
    `A development version of svc from before the first release created this database (migration ${name}), and no version ` +
      `can upgrade it. Use an empty database.`,
  )

/** How the database records the oldest version, for versions that do not have the file of the migration. */
const oldestLog = (oldest: string): string => `oldest version ${oldest}`

/** Returns the recorded oldest version; null without one. */
export const recordedOldest = (logs: string | null): string | null =>
  /^oldest version (\S+)$/.exec(logs ?? '')?.[1] ?? null

/** Returns the SQL and parameters that record a migration; `place` formats the n-th placeholder. */
export function recordOf(
  migration: Migration,
  place: (n: number) => string,
): { sql: string; values: (string | null)[] } {
  const now = new Date().toISOString().replace('Z', '+00:00')
  return {
    sql:
      'INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, logs, applied_steps_count) ' +
      `VALUES (${[1, 2, 3, 4, 5, 6].map(place).join(', ')}, 1)`,
    values: [
      randomUUID(),
      migration.checksum,
      migration.name,
      now,
      now,
      migration.oldest && oldestLog(migration.oldest),
    ],
  }
}
