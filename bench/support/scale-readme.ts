import type { BenchOptions } from './bench.ts'
import { table, updateSection } from './readme.ts'
import { type ScaleResult, scaleOperations } from './scale-operations.ts'
import { type MigrationResult, measuredTables, type PruningResult } from './scale-pruning.ts'
import type { ScaleAmounts } from './scale-rows.ts'

/** A result with the commit of its sources. */
export type Measured<T> = T & { commit: string }

/** The contents of `results/scale.json`. */
export interface ScaleReport {
  date: string
  machine: Record<string, string | number | null>
  options: Pick<BenchOptions, 'seconds' | 'rounds' | 'connections'>
  amounts: { small: ScaleAmounts; large: ScaleAmounts }
  operations: Measured<ScaleResult>[]
  pruning: Measured<PruningResult>[]
  migrations: Measured<MigrationResult>[]
}

/** The minimum ratio of requests per processor time. */
const speedTarget = 0.9
/** The maximum ratio of the 99th percentiles while svc prunes. */
const p99Target = 2
/** The maximum time of a request while svc migrates, in milliseconds. */
const pauseTarget = 2_000

const count = (value: number) => value.toLocaleString('en-GB')
const met = (isMet: boolean) => (isMet ? 'yes' : '**no**')

const amountsOf = ({ users, tokens, sessions, events, records }: ScaleAmounts): string =>
  `${count(users)} users, ${count(tokens)} API tokens, ${count(sessions)} sessions, ${count(events)} events and ${count(records)} OAuth records`

const operationTable = (operations: readonly ScaleResult[]): string[] =>
  table([
    ['Operation', 'Small tables', 'Large tables', 'By rate', 'By processor time', 'Target', 'Met'],
    ...operations.map(({ title, small, large, rateRatio, processorRatio }) => [
      title,
      `${count(small.rate)}/s`,
      `${count(large.rate)}/s`,
      rateRatio.toFixed(2),
      processorRatio.toFixed(2),
      `≥ ${speedTarget}`,
      met(processorRatio >= speedTarget),
    ]),
  ])

const pruningTable = (pruning: readonly PruningResult[]): string[] =>
  table([
    ['Deleted rows', 'Table', 'Time', 'p99 before', 'p99 meanwhile', 'Ratio', 'Target', 'Met'],
    ...pruning.map(({ name, rows, seconds, p99, ratio }) => [
      count(rows),
      `\`${name}\``,
      `${count(Math.round(seconds))} s`,
      `${p99.before} ms`,
      `${p99.during} ms`,
      `${ratio.toFixed(2)}×`,
      `≤ ${p99Target}×`,
      met(ratio <= p99Target),
    ]),
  ])

const migrationTable = (migrations: readonly MigrationResult[], { tokens, sessions }: ScaleAmounts): string[] =>
  table([
    ['New index', 'Rows', 'Time', 'Longest read', 'Longest write', 'Target', 'Met'],
    ...migrations.map(({ name, seconds, pause }) => [
      `\`${name}\``,
      count(name.includes('tokens') ? tokens : sessions),
      `${count(Math.round(seconds))} s`,
      `${count(pause.reads)} ms`,
      `${count(pause.writes)} ms`,
      `≤ ${count(pauseTarget)} ms`,
      met(Math.max(pause.reads, pause.writes) <= pauseTarget),
    ]),
  ])

function linesOf({ date, machine, options, amounts, ...found }: ScaleReport): string[] {
  const { cores, node, postgresql, loadAverage } = machine
  const { seconds, rounds, connections } = options
  const measured = [...found.operations, ...found.pruning, ...found.migrations]
  const commits = [...new Set(measured.map(({ commit }) => `\`${commit}\``))].join(', ')
  const isMissing = (name: string) => measured.every((each) => each.name !== name)
  const missing = [...scaleOperations, ...measuredTables].filter(isMissing).map((name) => `\`${name}\``)
  return [
    `Large: ${amountsOf(amounts.large)}.`,
    `Small: ${amountsOf(amounts.small)}.`,
    '',
    ...operationTable(found.operations),
    ...(found.pruning.length > 0 ? ['', ...pruningTable(found.pruning)] : []),
    ...(found.migrations.length > 0 ? ['', ...migrationTable(found.migrations, amounts.large)] : []),
    '',
    `Measured on ${date.slice(0, 10)} at ${commits}: medians of at least ${rounds} rounds of ${seconds} s with at most`,
    `${connections} connections, Node ${node} and PostgreSQL ${postgresql}. The load average was up to ${loadAverage} on ${cores} cores,`,
    'so rates include the waiting for other processes.',
    ...(missing.length > 0 ? ['', `Not measured yet at this size: ${missing.join(', ')}.`] : []),
  ]
}

/** Writes the results into bench/README.md, except with `check`. Returns whether they differed. */
export const updateScale = (check = false): boolean => updateSection('scale.json', linesOf, check)
