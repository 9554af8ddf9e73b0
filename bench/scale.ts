// npm run bench:scale [-- part…]: compares large tables with small ones. See "Large tables" in bench/README.md.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { Bench } from './support/bench.ts'
import { startPostgresql } from './support/postgresql.ts'
import { passwordHash } from './support/requests.ts'
import { commit, jsonOf, machineFacts } from './support/results.ts'
import { compareSizes, type ScaleSide, scaleOperations } from './support/scale-operations.ts'
import { measuredTables, measureMigrations, measurePruning } from './support/scale-pruning.ts'
import { type Measured, type ScaleReport, updateScale } from './support/scale-readme.ts'
import { fillScale, type ScaleAmounts } from './support/scale-rows.ts'

const million = 1_000_000
const large: ScaleAmounts = {
  users: million,
  tokens: 10 * million,
  sessions: million,
  events: 10 * million,
  records: million,
}
const share = (part: number): ScaleAmounts => ({
  users: large.users * part,
  tokens: large.tokens * part,
  sessions: large.sessions * part,
  events: large.events * part,
  records: large.records * part,
})
/** `SVC_SCALE=large` takes about 25 GB of disk and a quarter of an hour to fill. */
const sizes = { tenth: share(0.1), large } as const
const size = process.env.SVC_SCALE === 'large' ? 'large' : 'tenth'
const parts = [...scaleOperations, ...measuredTables, 'migrations']

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
    dist: { type: 'string', default: 'dist' },
    rows: { type: 'string', default: String(sizes[size].users) },
    /** Keeps the filled databases for a later run. */
    folder: { type: 'string' },
  },
})
const unknown = positionals.filter((name) => !parts.includes(name))
if (unknown.length > 0) throw new Error(`Unknown: ${unknown.join(', ')}. Known: ${parts.join(', ')}.`)
const isWanted = (name: string) => positionals.length === 0 || positionals.includes(name)

const options = {
  seconds: Number(values.seconds),
  rounds: Number(values.rounds),
  connections: Number(values.connections),
}
const bench = new Bench({ ...options, dist: values.dist })
// Large enough for the indexes of active rows, as docs/scaling.md recommends.
const postgresql = await startPostgresql(values.folder ?? join(bench.folder, 'postgresql'), { shared_buffers: '2GB' })

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void postgresql.stop().finally(() => process.exit(1)))
}

/** Returns a filled database. An earlier run may have filled it. */
async function filled(name: string, amounts: ScaleAmounts): Promise<ScaleSide> {
  const found = await postgresql.find(name)
  if (found) return { url: found, amounts }
  const begin = performance.now()
  const draft = `filling_${Date.now()}`
  await fillScale(await postgresql.create(draft), amounts, passwordHash())
  const url = await postgresql.rename(draft, name)
  process.stderr.write(`${name}: filled in ${Math.round((performance.now() - begin) / 1000)} s\n`)
  return { url, amounts }
}

const sides = { small: await filled('small', share(0.01)), large: await filled(size, sizes[size]) }
const amounts = { small: sides.small.amounts, large: sides.large.amounts }
const file = join(import.meta.dirname, 'results/scale.json')

/** Results of an earlier run with the same amounts. This run replaces the results that it measures again. */
function earlier(): Partial<ScaleReport> {
  if (!existsSync(file)) return {}
  const report: ScaleReport = JSON.parse(readFileSync(file, 'utf8'))
  return isDeepStrictEqual(report.amounts, amounts) ? report : {}
}

const { operations = [], pruning = [], migrations = [], options: before = options, machine } = earlier()

/** Replaces a result by one of the same name. */
function put<T extends { name: string }>(results: Measured<T>[], order: readonly string[], ...measured: T[]): void {
  const found = measured.map((each) => ({ ...each, commit: commit() }))
  for (const each of found) process.stderr.write(`${JSON.stringify(each)}\n`)
  const others = results.filter(({ name }) => found.every((each) => each.name !== name))
  const sorted = [...others, ...found].sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
  results.splice(0, results.length, ...sorted)
}

/** Saves the results. For several runs, it records the least exact options: the shortest samples and the highest load. */
function save(): void {
  const facts = machineFacts()
  const loadAverage = Math.max(Number(machine?.loadAverage ?? 0), Number(facts.loadAverage))
  const report: ScaleReport = {
    date: new Date().toISOString(),
    machine: { ...facts, loadAverage, postgresql: postgresql.version },
    options: {
      seconds: Math.min(before.seconds, options.seconds),
      rounds: Math.min(before.rounds, options.rounds),
      connections: Math.max(before.connections, options.connections),
    },
    amounts,
    operations,
    pruning,
    migrations,
  }
  writeFileSync(file, `${jsonOf(report)}\n`)
  updateScale()
}

try {
  for (const name of scaleOperations.filter(isWanted)) {
    put(operations, scaleOperations, await compareSizes(bench, postgresql, name, sides))
    save()
  }
  if (isWanted('migrations')) {
    put(migrations, [], ...(await measureMigrations(bench, sides.large)))
    save()
  }
  for (const table of measuredTables.filter(isWanted)) {
    put(pruning, measuredTables, await measurePruning(bench, sides.large, table, Number(values.rows)))
    save()
  }
} finally {
  await bench.close()
  await postgresql.stop()
}
