import pg from 'pg'
import t from 'tap'
import { migrationsFolder, readMigrations } from '../../../src/platform/database/migrations.ts'
import { openSqliteConnection } from '../../../src/platform/database/sqlite.ts'
import { createTestDatabase, testEngine } from '../../support/postgresql.ts'

interface Column {
  table: string
  name: string
  type: string
  required: boolean
  hasDefault: boolean
}

interface Schema {
  columns: Column[]
  /** Unique indexes, as `table: column, column`. */
  unique: { table: string; columns: string[] }[]
}

const columnQueries = {
  sqlite: `SELECT m.name, c.name, c.type, c."notnull", c.dflt_value IS NOT NULL FROM sqlite_master m, pragma_table_info(m.name) c
    WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%'`,
  postgresql: `SELECT table_name, column_name, data_type, is_nullable = 'NO', column_default IS NOT NULL
    FROM information_schema.columns WHERE table_schema = 'public'`,
}

const uniqueQueries = {
  sqlite: `SELECT m.name, group_concat(c.name) FROM sqlite_master m, pragma_index_list(m.name) i, pragma_index_info(i.name) c
    WHERE m.type = 'table' AND i."unique" GROUP BY m.name, i.name`,
  postgresql: `SELECT t.relname, string_agg(a.attname, ',') FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
    JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = ANY (i.indkey)
    WHERE i.indisunique AND t.relnamespace = 'public'::regnamespace GROUP BY t.relname, i.indexrelid`,
}

function schemaOf(columns: unknown[][], unique: unknown[][]): Schema {
  return {
    columns: columns.map(([table, name, type, required, hasDefault]) => ({
      table: String(table),
      name: String(name),
      type: String(type),
      required: Boolean(required),
      hasDefault: Boolean(hasDefault),
    })),
    unique: unique.map(([table, list]) => ({ table: String(table), columns: String(list).split(',').sort() })),
  }
}

/** What breaks the code of the version before a migration. */
function breaks(before: Schema, after: Schema): string[] {
  const tables = new Set(before.columns.map(({ table }) => table))
  const find = ({ columns }: Schema, { table, name }: Column) =>
    columns.find((column) => column.table === table && column.name === name)
  const changed = before.columns.flatMap((column) => {
    const now = find(after, column)
    const place = `${column.table}.${column.name}`
    if (!now) return [`${place} is gone`]
    if (now.type !== column.type) return [`${place} has another type`]
    return now.required && !column.required ? [`${place} became required`] : []
  })
  const added = after.columns.filter((column) => tables.has(column.table) && !find(before, column))
  const required = added.filter((column) => column.required && !column.hasDefault)
  const isNew = (table: string, name: string) => added.some((column) => column.table === table && column.name === name)
  const known = new Set(before.unique.map((index) => JSON.stringify(index)))
  const unique = after.unique.filter(
    (index) =>
      tables.has(index.table) &&
      !known.has(JSON.stringify(index)) &&
      !index.columns.some((name) => isNew(index.table, name)),
  )
  return [
    ...changed,
    ...required.map(({ table, name }) => `${table}.${name} is new and has no default`),
    ...unique.map(({ table, columns }) => `${table} has a new unique index on ${columns.join(', ')}`),
  ]
}

type Run = (script: string) => Promise<unknown[][]>

async function openBare(t: { teardown(end: () => Promise<void>): void }): Promise<Run> {
  const { url, file, drop } = await createTestDatabase({ bare: true })
  t.teardown(drop)
  if (file) {
    const db = openSqliteConnection(file)
    return async (script) => {
      if (/^SELECT/.test(script)) return db.prepare(script).raw(true).all([]) as unknown[][]
      db.exec(script)
      return []
    }
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end())
  return async (script) => {
    const found = await client.query({ text: script, rowMode: 'array' })
    return found.rows
  }
}

t.test('detects migrations that break the running version', async (t) => {
  const column = { table: 'users', name: 'email', type: 'text', required: false, hasDefault: false }
  const before: Schema = { columns: [column], unique: [] }
  const now = (...columns: Column[]): Schema => ({ columns, unique: [] })
  const other = { ...column, name: 'language' }
  t.same(breaks(before, now()), ['users.email is gone'])
  t.same(breaks(before, now({ ...column, name: 'mail' })), ['users.email is gone'])
  t.same(breaks(before, now({ ...column, type: 'bigint' })), ['users.email has another type'])
  t.same(breaks(before, now({ ...column, required: true })), ['users.email became required'])
  t.same(breaks(before, now(column, { ...other, required: true })), ['users.language is new and has no default'])
  t.same(breaks(before, now(column, other, { ...other, table: 'new', required: true })), [])
  const unique = [{ table: 'users', columns: ['email'] }]
  t.same(breaks(before, { columns: [column], unique }), ['users has a new unique index on email'])
})

t.test('contains only migrations during which an earlier version keeps working', async (t) => {
  const run = await openBare(t)
  const read = async () => schemaOf(await run(columnQueries[testEngine]), await run(uniqueQueries[testEngine]))
  let before = await read()
  for (const { name, script } of readMigrations(migrationsFolder(testEngine))) {
    await run(script)
    const after = await read()
    t.same(breaks(before, after), [], `${name}: see docs/upgrading.md`)
    before = after
  }
})

t.test('contains only migrations that name the oldest version that runs on their result', async (t) => {
  for (const { name, oldest } of readMigrations(migrationsFolder(testEngine))) {
    t.match(oldest, /^\d+\.\d+\.\d+$/, `${name}: begin it with -- Oldest version: 1.2.0`)
  }
})
