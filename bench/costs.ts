// npm run bench:costs [-- name…]: measures what one operation costs svc and PostgreSQL. See docs/scaling.md.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Bench } from './support/bench.ts'
import { measureMixes, predict } from './support/cost-mix.ts'
import { costOperations } from './support/cost-operations.ts'
import {
  costDatabase,
  measureCounts,
  measureTimes,
  type OperationCost,
  operationsOf,
  settle,
  startMeasured,
  type UseCost,
  useCost,
} from './support/costs.ts'
import { type CostReport, updateCosts } from './support/costs-report.ts'
import { countingStatements, type StatementCost } from './support/database-cost.ts'
import { commit, jsonOf, machineFacts } from './support/results.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
    dist: { type: 'string', default: 'dist' },
    top: { type: 'string', default: '0' },
    mix: { type: 'boolean', default: false },
    counts: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
const names = costOperations.map(({ name }) => name)
const unknown = positionals.filter((name) => !names.includes(name))
if (values.help || unknown.length > 0) {
  if (unknown.length > 0) console.error(`No such operation: ${unknown.join(', ')}`)
  console.error(
    `npm run bench:costs -- [--seconds 4] [--rounds 3] [--connections 64] [--top 10] [--dist dist] [--mix | --counts] [${names.join('|')}]…`,
  )
  process.exit(values.help ? 0 : 1)
}

/** Only a complete run writes results. */
const isWhole = positionals.length === 0

const results = join(import.meta.dirname, 'results/costs.json')

/** Earlier results. `--counts` keeps their times and measures only counts, which do not depend on the load of the machine. */
const known: CostReport | null = values.counts ? JSON.parse(readFileSync(results, 'utf8')) : null

const bench = new Bench({
  seconds: Number(values.seconds),
  rounds: Number(values.rounds),
  connections: Number(values.connections),
  dist: values.dist,
  postgresql: countingStatements,
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

try {
  const url = await costDatabase(bench)
  const databasePid = (await bench.postgresql()).pid
  await settle(url)
  const server = await startMeasured(bench, url)
  const on = { url, server, databasePid }
  const operations: OperationCost[] = []
  let use: UseCost | null = known?.use ?? null
  for (const operation of operationsOf(positionals)) {
    const { name, title } = operation
    const counts = await measureCounts(on, operation)
    const measured = known ? null : await measureTimes(bench, on, operation)
    const times = measured?.cost ?? known?.operations.find((each) => each.name === name)
    console.log(JSON.stringify({ ...times, name, title, ...counts.cost }))
    print((measured ?? counts).top.slice(0, Number(values.top)))
    if (name !== 'uses') {
      if (!times) throw new Error(`${name} was never measured: run npm run bench:costs without --counts`)
      operations.push({ ...times, name, title, ...counts.cost })
    } else if (measured) {
      // The tokens of these checks were last used more than a minute ago, so that svc records each use.
      use = useCost(counts.top, measured.top)
    }
  }
  await server.stop()
  const mixes = known
    ? known.mixes.map((mix) => ({ ...mix, predicted: predict(mix.rates, operations) }))
    : isWhole || values.mix
      ? await measureMixes(bench, { url, databasePid }, operations)
      : []
  if (isWhole && use) save({ ...(known ?? (await facts())), counted: commit(), operations, use, mixes })
} finally {
  await bench.close()
}

function print(top: readonly StatementCost[]): void {
  for (const { query, calls, rows, wal, time, planning } of top) {
    const text = query.replace(/\s+/g, ' ').slice(0, 110)
    const figures = [`${calls.toFixed(2)} calls`, `${rows.toFixed(2)} rows`, `${wal.toFixed(0)} B`]
    console.log(
      `  ${figures.join(', ')}, ${(time * 1000).toFixed(0)} µs, planning ${(planning * 1000).toFixed(0)} µs: ${text}`,
    )
  }
}

async function facts(): Promise<Pick<CostReport, 'date' | 'commit' | 'machine' | 'options'>> {
  const { seconds, rounds, connections } = bench.options
  return {
    date: new Date().toISOString(),
    commit: commit(),
    machine: { ...machineFacts(), postgresql: (await bench.postgresqlVersion()) ?? null },
    options: { seconds, rounds, connections },
  }
}

function save(report: CostReport): void {
  writeFileSync(results, `${jsonOf(report)}\n`)
  updateCosts()
}
