import { existsSync } from 'node:fs'
import type { Place } from './copy/connection.ts'
import { openCopy } from './copy/open.ts'
import { appliedOf } from './migrate.ts'
import { MigrationError, migrationsFolder, pendingMigrations, readMigrations } from './migrations.ts'

/** What a start of this version does to the schema of a database. */
export interface SchemaStatus {
  engine: 'sqlite' | 'postgresql'
  /** `current`: nothing. `pending`: migrates. `blocked`: fails. */
  state: 'current' | 'pending' | 'blocked'
  /** Names of the migrations that the database has. */
  applied: string[]
  /** Names of the migrations that a start applies. */
  pending: string[]
  /** Names of migrations that only a newer version knows. */
  unknown: string[]
  /** Why a start fails. */
  reason: string | null
}

/** Compares the schema of a database with this version, without changing anything. */
export async function schemaStatus(place: Place): Promise<SchemaStatus> {
  const { engine } = place
  const migrations = readMigrations(migrationsFolder(engine))
  const rows = await readApplied(place)
  const known = new Set(migrations.map(({ name }) => name))
  const applied = rows.filter((row) => row.finished && !row.rolledBack).map(({ name }) => name)
  const unknown = applied.filter((name) => !known.has(name))
  const facts = { engine, applied, unknown }
  try {
    const pending = pendingMigrations(migrations, rows).map(({ name }) => name)
    return { ...facts, state: pending.length > 0 ? 'pending' : 'current', pending, reason: null }
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error
    const pending = [...known].filter((name) => !applied.includes(name))
    return { ...facts, state: 'blocked', pending, reason: error.message }
  }
}

async function readApplied(place: Place) {
  if (place.file !== null && !existsSync(place.file)) return []
  const connection = await openCopy(place)
  try {
    await connection.beginRead()
    return ((await connection.applied()) ?? []).map(appliedOf)
  } finally {
    await connection.close()
  }
}
