import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Engine = 'postgresql' | 'sqlite'

/** A schema file of Prisma, by its name. */
export interface SchemaFile {
  path: string
  content: string
}

const folder = join(import.meta.dirname, 'schema')

/** The models of `prisma/schema` for one engine. */
export function modelsFor(engine: Engine): SchemaFile[] {
  return readdirSync(folder)
    .filter((path) => path.endsWith('.prisma'))
    .sort()
    .map((path) => ({ path, content: forEngine(readFileSync(join(folder, path), 'utf8'), engine) }))
}

/**
 * The models that migrations lead to. SQLite assigns row numbers only in a column declared INTEGER, which holds 64 bits
 * there, so its tables are derived with Int in place of BigInt, while the client keeps BigInt.
 */
export function tablesFor(engine: Engine): SchemaFile[] {
  const models = modelsFor(engine)
  if (engine !== 'sqlite') return models
  return models.map(({ path, content }) => ({ path, content: content.replace(/^(\s+\w+\s+)BigInt\b/gm, '$1Int') }))
}

function forEngine(text: string, engine: Engine): string {
  return text.replace(/^(\s*provider\s*=\s*)"postgresql"/m, `$1"${engine}"`)
}
