import { createRequire } from 'node:module'
import { PrismaLibSql } from '@prisma/adapter-libsql'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { type Engine, tablesFor } from './models.ts'

const require = createRequire(import.meta.url)

/** Writes the SQL that migrates a live database to the models; empty if nothing differs. */
export async function difference(engine: Engine, url: string): Promise<string> {
  const files = tablesFor(engine)
  const { SchemaEngine } = await schemaEngine()
  const pool = engine === 'postgresql' ? catalogPool(url) : undefined
  const factory = pool ? new PrismaPg(pool) : new PrismaLibSql({ url })
  const wasm = await SchemaEngine.new({ datamodels: files.map((f) => [f.path, f.content]) }, () => {}, bind(factory))
  try {
    const { stdout } = await wasm.diff({
      // The live database. The adapter is the connection; the directory is not read.
      from: { tag: 'schemaDatasource', files, configDir: import.meta.dirname },
      to: { tag: 'schemaDatamodel', files },
      script: true,
      exitCode: null,
      // The migration runner and the engine use the same table, which never counts as a difference.
      filters: { externalTables: [], externalEnums: [] },
    })
    const script = (stdout ?? '').trim()
    return script === '-- This is an empty migration.' ? '' : script
  } finally {
    wasm.free()
    await pool?.end()
  }
}

async function schemaEngine() {
  // Node warns that WebAssembly imports are experimental. Authors of migrations cannot act on that.
  const warn = process.emitWarning
  process.emitWarning = () => {}
  try {
    return await import('@prisma/schema-engine-wasm')
  } finally {
    process.emitWarning = warn
  }
}

// The engine expects adapters that return failures as values. The function that wraps them comes with every adapter.
function bind(factory: object): object {
  const utilities = createRequire(require.resolve('@prisma/adapter-pg'))('@prisma/driver-adapter-utils')
  return utilities.bindMigrationAwareSqlAdapterFactory(factory)
}

// PostgreSQL's catalogue has columns of type "char", which the adapter does not know. The engine accepts them as text.
function catalogPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  const query = pool.query.bind(pool) as (config: pg.QueryArrayConfig) => Promise<pg.QueryArrayResult>
  return Object.assign(pool, {
    async query(config: pg.QueryArrayConfig) {
      const result = await query(config)
      const { CHAR, TEXT } = pg.types.builtins
      for (const field of result.fields) if (field.dataTypeID === CHAR) field.dataTypeID = TEXT
      return result
    },
  })
}
