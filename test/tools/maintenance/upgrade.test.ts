import { cpSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import type { CopyConnection } from '../../../src/platform/database/copy/connection.ts'
import { openCopy } from '../../../src/platform/database/copy/open.ts'
import { migratePostgresql, migrateSqlite } from '../../../src/platform/database/migrate.ts'
import { migrationsFolder, readMigrations } from '../../../src/platform/database/migrations.ts'
import { openSqliteConnection } from '../../../src/platform/database/sqlite.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { createTestDatabase, type TestDatabase, testEngine } from '../../support/postgresql.ts'
import { temporaryDirectory } from '../../support/process.ts'
import { issueCredentials, settings, useCredentials } from './credentials.ts'

const names = readMigrations(migrationsFolder(testEngine)).map(({ name }) => name)

/** Applies the migrations up to this one. */
async function migrateTo(t: Test, { url, file }: TestDatabase, last: string): Promise<void> {
  const folder = temporaryDirectory(t)
  for (const name of names.filter((each) => each <= last))
    cpSync(join(migrationsFolder(testEngine), name), join(folder, name), { recursive: true })
  if (file) {
    const db = openSqliteConnection(file)
    await migrateSqlite(db, { folder })
    db.close()
    return
  }
  const connect = async () => {
    const opened = new pg.Client({ connectionString: url })
    await opened.connect()
    return opened
  }
  const client = await connect()
  await migratePostgresql(client, { folder, connect })
  await client.end()
}

const open = ({ url, file }: { url: string; file?: string }) =>
  openCopy({ engine: testEngine, url, file: file ?? null })

/** Copies the tables and columns that the older schema has. */
async function copyColumns(from: CopyConnection, to: CopyConnection): Promise<void> {
  await from.beginRead()
  const [source, target] = [await from.tables(), await to.tables()]
  await to.beginWrite(target)
  for (const table of target) {
    const newer = source.find(({ name }) => name === table.name)
    const columns = table.columns.filter((column) => newer?.columns.some(({ name }) => name === column.name))
    if (!newer) continue
    const places = columns.map(({ name }) => newer.columns.findIndex((column) => column.name === name))
    for await (const rows of from.rows(newer, 100)) {
      const older = rows.map((row) => places.map((at) => row[at] ?? null))
      await to.insert({ ...table, columns }, older)
    }
    const lastId = await from.lastId(newer)
    if (lastId !== null) await to.setLastId(table, lastId)
  }
  await to.commit()
}

/** An svc of this version on the data of an older schema. */
async function upgraded(t: Test, svc: TestApp, last: string): Promise<TestApp> {
  const database = await createTestDatabase({ bare: true })
  t.teardown(database.drop)
  await migrateTo(t, database, last)
  const [from, to] = [await open(svc.where), await open(database)]
  await copyColumns(from, to)
  await Promise.all([from.close(), to.close()])
  const where = { url: database.url, ...(database.file ? { file: database.file } : {}) }
  return buildTestApp(t, { settings, database: where, clock: svc.clock })
}

t.test('keeps every credential of the oldest schema', async (t) => {
  const svc = await buildTestApp(t, { settings })
  const issued = await issueCredentials(svc)
  const there = await upgraded(t, svc, names[0] ?? '')
  await useCredentials(t, there, issued)
})
