// npm run bench [-- name…]: measures the hot paths as ratios. See bench/README.md.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Bench } from './support/bench.ts'
import { comparisons } from './support/comparisons.ts'
import { type EqualTime, measureEqualTime } from './support/equal-time.ts'
import { type FairLogins, measureFairLogins } from './support/fair-logins.ts'
import { type Comparison, type MemoryFigures, measureMemory, memoryTargets, type Sample } from './support/operations.ts'
import { updateReadme } from './support/readme.ts'
import { chartOf, type Report, type Result, resultOf, tableOf } from './support/report.ts'
import { commit, jsonOf, machineFacts } from './support/results.ts'

const names = [...comparisons.map(({ name }) => name), 'memory', 'equal-time', 'fair-logins']
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
    dist: { type: 'string', default: 'dist' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
const unknown = positionals.filter((name) => !names.includes(name))
if (values.help || unknown.length > 0) {
  if (unknown.length > 0) console.error(`No such operation: ${unknown.join(', ')}`)
  console.error(`npm run bench -- [--seconds 5] [--rounds 3] [--connections 64] [--dist dist] [${names.join('|')}]…`)
  process.exit(values.help ? 0 : 1)
}
const isWanted = (name: string): boolean => positionals.length === 0 || positionals.includes(name)

const bench = new Bench({
  seconds: Number(values.seconds),
  rounds: Number(values.rounds),
  connections: Number(values.connections),
  dist: values.dist,
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

try {
  const results: Result[] = []
  for (const comparison of comparisons) {
    if (isWanted(comparison.name)) results.push(await compare(comparison))
  }
  const memory = isWanted('memory') ? await memoryFigures() : null
  const equalTime = isWanted('equal-time') ? await equalTimes() : null
  const fairLogins = isWanted('fair-logins') ? await fairLoginTimes() : null
  console.log(`\n${tableOf({ results, memory, equalTime, fairLogins })}`)
  // A partial run writes no report.
  if (positionals.length === 0) await save({ results, memory, equalTime, fairLogins })
} finally {
  await bench.close()
}

/** Alternates the samples of a comparison, so that other load on the machine affects both sides equally. */
async function compare(comparison: Comparison): Promise<Result> {
  const { seconds, rounds } = bench.options
  process.stderr.write(`${comparison.name}: `)
  const sides = await comparison.prepare(bench)
  const base: Sample[] = []
  const op: Sample[] = []
  const take = async (list: Sample[], sample: Promise<Sample>) => {
    const found = await sample
    list.push(found)
    process.stderr.write(`${Math.round(found.rate)} `)
  }
  for (let round = 0; round < rounds; round++) {
    await take(base, sides.base(seconds))
    await take(op, sides.op(seconds))
  }
  await take(base, sides.base(seconds))
  await sides.stop()
  const result = resultOf(comparison, base, op)
  process.stderr.write(`req/s by turns, ratio ${result.ratio}\n`)
  return result
}

async function memoryFigures(): Promise<Report['memory']> {
  process.stderr.write('memory: ')
  const found = await measureMemory(bench)
  const entries = Object.entries(found).map(([key, value]) => [key, Math.round(value * 10) / 10])
  process.stderr.write(`${entries.map(([key, value]) => `${key} ${value}`).join(', ')} MB\n`)
  return { ...(Object.fromEntries(entries) as MemoryFigures), targets: memoryTargets }
}

async function equalTimes(): Promise<EqualTime[]> {
  process.stderr.write('equal-time: ')
  const found = await measureEqualTime(bench)
  const rounded = (value: number) => Number(value.toFixed(3))
  const lines = found.map(({ channel, tries, known, unknown, ratio }) => {
    return { channel, tries, known: rounded(known), unknown: rounded(unknown), ratio: rounded(ratio) }
  })
  process.stderr.write(
    `${lines.map(({ channel, known, unknown }) => `${channel} ${known} and ${unknown} ms`).join(', ')}\n`,
  )
  return lines
}

async function fairLoginTimes(): Promise<FairLogins> {
  process.stderr.write('fair-logins: ')
  const found = await measureFairLogins(bench)
  const rounded = (value: number) => Number(value.toFixed(2))
  const { quiet, attacked, ratio } = found
  const line = { ...found, quiet: rounded(quiet), attacked: rounded(attacked), ratio: rounded(ratio) }
  process.stderr.write(
    `${line.quiet} ms alone, ${line.attacked} ms beside ${line.checked} guesses and ${line.refused} refused ones: ratio ${line.ratio}\n`,
  )
  return line
}

async function save(measured: Pick<Report, 'results' | 'memory' | 'equalTime' | 'fairLogins'>): Promise<void> {
  const { seconds, rounds, connections } = bench.options
  const folder = join(import.meta.dirname, 'results')
  const libsql = JSON.parse(readFileSync(join(import.meta.dirname, '../node_modules/libsql/package.json'), 'utf8'))
  const report: Report = {
    date: new Date().toISOString(),
    commit: commit(),
    machine: {
      ...machineFacts(),
      postgresql: (await bench.postgresqlVersion()) ?? null,
      libsql: String(libsql.version),
    },
    options: { seconds, rounds, connections },
    ...measured,
  }
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'latest.json'), `${jsonOf(report)}\n`)
  writeFileSync(join(folder, 'latest.svg'), chartOf(report))
  updateReadme()
  process.stderr.write(`\nwritten: ${folder}/latest.json and latest.svg, and the table in bench/README.md\n`)
}
