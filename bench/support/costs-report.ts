import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BenchOptions } from './bench.ts'
import type { Mix } from './cost-mix.ts'
import type { OperationCost, UseCost } from './costs.ts'
import { table } from './readme.ts'

/** The contents of `results/costs.json`. */
export interface CostReport {
  date: string
  commit: string
  /** The commit of the counts, which `--counts` counts again. */
  counted: string
  machine: Record<string, string | number | null>
  options: Pick<BenchOptions, 'seconds' | 'rounds' | 'connections'>
  operations: OperationCost[]
  use: UseCost
  mixes: Mix[]
}

const root = join(import.meta.dirname, '../..')
const file = join(root, 'docs/scaling.md')
const [begin, end] = ['<!-- bench/results/costs.json: begin -->', '<!-- bench/results/costs.json: end -->']

/** The rates that docs/scaling.md predicts. */
const target = { login: 1_000, bearer: 100_000 }

/** Active API tokens. Each one is used more than once per minute. */
const activeTokens = 1_000_000

const figure = (value: number, digits = 0): string =>
  value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
const micro = (value: number): string => (value < 100 ? figure(value) : figure(Math.round(value / 10) * 10))
const cores = (value: number): string => figure(value, value < 10 ? 1 : 0)
const bytes = (value: number): string =>
  value < 10 ? '0' : value < 1_000 ? `${figure(value)}` : figure(Math.round(value / 100) * 100)

function operationRows({ operations }: CostReport): string[][] {
  const rows = operations.map((cost) => {
    return [
      cost.title,
      figure(cost.statements),
      cost.later < 0.5 ? '' : figure(cost.later, 1),
      `${figure(cost.read, 0)} / ${figure(cost.written, 0)}`,
      `${bytes(cost.wal)} / ${bytes(cost.loadWal)}`,
      `${micro(cost.loop)} µs`,
      `${micro(cost.svc - cost.loop)} µs`,
      `${micro(cost.database)} µs`,
    ]
  })
  const head = [
    'Operation',
    'Round trips',
    'Later',
    'Rows read / written',
    'WAL bytes',
    'Event loop',
    'Other threads',
    'PostgreSQL',
  ]
  return [head, ...rows]
}

/** What the target rates need. */
function needs({ operations, use }: CostReport): string[][] {
  const of = (name: string) => {
    const found = operations.find((each) => each.name === name)
    if (!found) throw new Error(`No cost of ${name}.`)
    return found
  }
  const [login, bearer] = [of('login'), of('bearer')]
  // Each is recorded once per minute.
  const uses = activeTokens / 60
  const perSecond = (cost: number, rate: number) => (cost * rate) / 1e6
  const logins = (pick: (cost: OperationCost) => number) => perSecond(pick(login), target.login)
  const checks = (pick: (cost: OperationCost) => number) => perSecond(pick(bearer), target.bearer)
  const threads = ({ svc, loop }: OperationCost) => svc - loop
  const million = (rate: number) => rate / 1e6
  const whole = (value: number) => figure(value * 1e6)
  const row = (title: string, first: number, second: number, third: number, write: (value: number) => string) => [
    title,
    ...[first, second, third, first + second + third].map((value) => (value === 0 ? '' : write(value))),
  ]
  const megabytes = (value: number) => figure(value, 1)
  return [
    ['Per second', '1,000 logins', '100,000 token checks', '1,000,000 tokens in use', 'Together'],
    row(
      'cores of svc, event loops',
      logins(({ loop }) => loop),
      checks(({ loop }) => loop),
      0,
      cores,
    ),
    row('cores of svc, other threads (passwords)', logins(threads), checks(threads), 0, cores),
    row(
      'cores of PostgreSQL',
      logins(({ database }) => database),
      checks(({ database }) => database),
      perSecond(use.database, uses),
      cores,
    ),
    row(
      'round trips',
      logins(({ statements }) => statements),
      checks(({ loadStatements }) => loadStatements),
      0,
      whole,
    ),
    row(
      'rows written',
      logins(({ written }) => written),
      0,
      million(uses),
      whole,
    ),
    row(
      'WAL, MB',
      logins(({ wal }) => wal),
      0,
      perSecond(use.wal, uses),
      megabytes,
    ),
    row(
      'WAL after a checkpoint, MB',
      logins(({ loadWal }) => loadWal),
      0,
      perSecond(use.loadWal, uses),
      megabytes,
    ),
  ]
}

/** A measurement, its prediction, and by how much it differs. */
function compared(measured: number, predicted: number): string {
  const percent = Math.round((measured / predicted - 1) * 100)
  const sign = percent > 0 ? '+' : percent < 0 ? '−' : '±'
  return `${figure(measured, 2)} / ${figure(predicted, 2)} (${sign}${Math.abs(percent)} %)`
}

const shortNames: Readonly<Record<string, string>> = {
  login: 'logins',
  bearer: 'checks',
  refresh: 'refreshes',
  'create-token': 'new tokens',
}
const loadOf = ({ rates }: Mix): string =>
  Object.entries(rates)
    .map(([name, rate]) => `${figure(rate)} ${shortNames[name] ?? name}`)
    .join(', ')

function mixRows({ mixes }: CostReport): string[][] {
  const rows = mixes.map((mix) => [
    String(mix.processes),
    loadOf(mix),
    compared(mix.measured.svc, mix.predicted.svc),
    compared(mix.measured.database, mix.predicted.database),
    compared(mix.measured.wal, mix.predicted.wal),
  ])
  return [['Processes', 'Per second', 'Cores of svc', 'Cores of PostgreSQL', 'WAL, MB/s'], ...rows]
}

function waitRows({ mixes }: CostReport): string[][] {
  const rows = mixes.map(({ name, processes, backends, syncs, background }) => {
    const { open, used, svc, disk, locks } = backends
    return [
      `${processes}, ${name}`,
      figure(open),
      ...[used, svc, disk, locks].map((value) => figure(value, 1)),
      figure(syncs),
      figure(background, 2),
    ]
  })
  const head = [
    'Processes, load',
    'Open',
    'In use',
    'Wait for svc',
    'Wait for disk',
    'Wait for locks',
    'Syncs/s',
    'Background, cores',
  ]
  return [head, ...rows]
}

function linesOf(report: CostReport): string[] {
  const { seconds, rounds, connections } = report.options
  const { processor, cores: count, postgresql } = report.machine
  return [
    ...table(operationRows(report)),
    '',
    `Counted at commit \`${report.counted}\`. Times were measured on ${report.date.slice(0, 10)} at commit \`${report.commit}\`: medians of ${rounds} rounds`,
    `of ${seconds} s with up to ${connections} connections (${processor}, ${count} cores, PostgreSQL ${postgresql}).`,
    '',
    '**Prediction** for 1,000 logins and 100,000 token checks per second:',
    '',
    ...table(needs(report)),
    '',
    '**Check** of such predictions: several operations at the same time, measured / predicted (deviation).',
    '',
    ...table(mixRows(report)),
    '',
    'These loads use both cores completely. Then an operation needs up to about twice as much processor time as it needs alone.',
    '',
    'Connections to PostgreSQL during these loads, on average:',
    '',
    ...table(waitRows(report)),
  ]
}

/** Writes the results into docs/scaling.md, except with `check`. Returns the files that differed. */
export function updateCosts(check = false): string[] {
  const results = join(root, 'bench/results/costs.json')
  if (!existsSync(results)) return []
  const report: CostReport = JSON.parse(readFileSync(results, 'utf8'))
  const before = readFileSync(file, 'utf8')
  const [from, to] = [before.indexOf(begin), before.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`docs/scaling.md has no section between "${begin}" and "${end}".`)
  const after = `${before.slice(0, from)}${[begin, '', ...linesOf(report), '', ''].join('\n')}${before.slice(to)}`
  if (after === before) return []
  if (!check) writeFileSync(file, after)
  return ['docs/scaling.md']
}
