// engine: postgresql
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { concurrentIndexOf } from '../../../src/platform/database/concurrent-index.ts'
import { migratePostgresql } from '../../../src/platform/database/migrate.ts'
import { migrationsFolder, readMigrations } from '../../../src/platform/database/migrations.ts'
import { createTestDatabase } from '../../support/postgresql.ts'
import { until } from '../../support/until.ts'

/** Why a migration could lock a large table for longer than a moment. */
function locks(script: string): string[] {
  const statements = script
    .replace(/--.*/g, '')
    .split(';')
    .map((statement) => statement.trim())
    .filter(Boolean)
  const created = [...script.matchAll(/CREATE TABLE "(\w+)"/g)].map(([, table]) => table)
  const isNew = (statement: string) => created.includes(/(?:ON|TABLE) "(\w+)"/.exec(statement)?.[1])
  const found = statements.flatMap((statement) => {
    if (isNew(statement)) return []
    if (/^CREATE (UNIQUE )?INDEX (?!CONCURRENTLY)/.test(statement)) return ['needs CREATE INDEX CONCURRENTLY']
    if (/^(UPDATE|DELETE|INSERT)/.test(statement)) return ['changes rows: do this in batches, in a job']
    if (/ADD CONSTRAINT/.test(statement) && !/NOT VALID/.test(statement)) return ['validates all rows']
    return []
  })
  const isMixed = /CONCURRENTLY/.test(script) && concurrentIndexOf(script) === null
  return isMixed ? [...found, 'must be the only statement of its migration'] : found
}

t.test('adds no migration that locks a large table', async (t) => {
  for (const { name, script } of readMigrations(migrationsFolder('postgresql')))
    t.same(locks(script), [], `${name}: see docs/upgrading.md`)
  const [create, other] = ['CREATE INDEX CONCURRENTLY "i" ON "t"("a");', 'CREATE INDEX "i" ON "t"("a");']
  t.same(locks(create), [])
  t.same(locks(`CREATE TABLE "t" ("a" TEXT); ${other}`), [])
  t.same(locks('ALTER TABLE "t" ADD COLUMN "b" TEXT;'), [])
  t.match(locks(other), [/CONCURRENTLY/])
  t.match(locks(`ALTER TABLE "t" ADD COLUMN "b" TEXT; ${create}`), [/only statement/])
  t.match(locks('UPDATE "t" SET "a" = \'\';'), [/in batches/])
  t.match(locks('ALTER TABLE "t" ADD CONSTRAINT "c" CHECK ("a" <> \'\');'), [/validates/])
})

/** A bare database with a table, and a folder of migrations for it. */
async function openTable(t: Test, scripts: Record<string, string>) {
  const { url, drop } = await createTestDatabase({ bare: true })
  const clients: pg.Client[] = []
  t.teardown(async () => {
    await Promise.all(clients.map((client) => client.end().catch(() => {})))
    await drop()
  })
  const connect = async () => {
    const client = new pg.Client({ connectionString: url })
    clients.push(client)
    await client.connect()
    return client
  }
  const folder = t.testdir()
  for (const [name, script] of Object.entries(scripts)) {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'migration.sql'), script)
  }
  const client = await connect()
  await client.query('CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO items VALUES (1, $$a$$)')
  const warnings: string[] = []
  const log = { info: () => {}, warn: (_: object, message: string) => void warnings.push(message) }
  const migrate = async () => migratePostgresql(await connect(), { folder, connect, log })
  const isValid = async () =>
    (await client.query(`SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('items_name_idx')`)).rows[0]
      ?.indisvalid
  return { client, connect, migrate, isValid, warnings }
}

const index = '-- CreateIndex\nCREATE INDEX CONCURRENTLY "items_name_idx" ON "items"("name");\n'
const uniqueIndex = index.replace('CREATE INDEX', 'CREATE UNIQUE INDEX')

t.test('creates an index while other transactions write to the table', async (t) => {
  const { client, connect, migrate, isValid } = await openTable(t, { '1_index': index })
  const writer = await connect()
  await writer.query("BEGIN; INSERT INTO items VALUES (2, 'b')")
  const migrated = migrate()
  await until(async () => (await isValid()) === false)
  await client.query("INSERT INTO items VALUES (3, 'c')")
  t.equal(await isValid(), false, 'the index waits for the transaction that began earlier')
  await writer.query('COMMIT')
  t.same(await migrated, ['1_index'])
  t.equal(await isValid(), true)
  t.same(await migrate(), [])
})

t.test('repairs an index that an earlier attempt left invalid', async (t) => {
  const { client, migrate, isValid } = await openTable(t, { '1_index': uniqueIndex })
  await client.query("INSERT INTO items VALUES (2, 'a')")
  await t.rejects(migrate(), /1_index failed.*could not create unique index/)
  t.equal(await isValid(), false)
  await client.query('DELETE FROM items WHERE id = 2')
  t.same(await migrate(), ['1_index'])
  t.equal(await isValid(), true)
})

t.test('records an index that an earlier attempt completed', async (t) => {
  const { client, migrate } = await openTable(t, { '1_index': index })
  await client.query(index)
  t.same(await migrate(), ['1_index'])
})

t.test('holds up requests for at most a second while a long transaction uses the table', async (t) => {
  const column = 'ALTER TABLE items ADD COLUMN size INTEGER;'
  const { client, connect, migrate, warnings } = await openTable(t, { '1_column': column })
  const reader = await connect()
  await reader.query('BEGIN; SELECT * FROM items')
  const migrated = migrate()
  await until(() => warnings.length > 0)
  t.same(warnings, ['waiting for a transaction that locks a table'])
  t.equal((await client.query('SELECT * FROM items')).rowCount, 1, 'reads while the transaction is open')
  await reader.query('COMMIT')
  t.same(await migrated, ['1_column'])
})
