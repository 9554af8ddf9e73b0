import type { LoadFigures } from '../support/load.ts'
import { median, rounded } from '../support/report.ts'
import { hashing, type Operation, operations, type Peer } from './peer.ts'

/** One sample of an operation. */
export interface PeerSample extends LoadFigures {
  /** Processor time of the server per request in microseconds. */
  processor: number
  /** Processor time of PostgreSQL per request in microseconds. */
  database: number
}

/** The figures of one server. */
export interface PeerResult extends Pick<Peer, 'name' | 'title' | 'version' | 'store'> {
  /** Milliseconds from the start of the process to the first response, of each start. */
  starts: number[]
  /** Milliseconds of processor time until then. */
  startTimes: number[]
  /** Resident memory in MB, five seconds after each start. */
  idle: number[]
  /** Maximum resident memory in MB under all loads. */
  loaded: number
  samples: Partial<Record<Operation, PeerSample[]>>
}

/** The contents of `results/peers.json`. */
export interface PeersReport {
  date: string
  commit: string
  machine: Record<string, string | number | null>
  options: { seconds: number; rounds: number; connections: number }
  peers: PeerResult[]
  /** What a reader must know about this run. */
  note?: string
}

/** Requests per second of processor time, of the server and PostgreSQL together. */
const efficiency = ({ processor, database }: PeerSample): number => 1e6 / (processor + database)

/** The report lists operations with a lower ratio. */
const aim = 3

const number = (value: number): string =>
  value < 100 ? value.toFixed(value < 1 ? 2 : 1) : Math.round(value).toLocaleString('en')
const factor = (value: number): string =>
  value < 0.01 ? '< 0.01 ×' : `${value < 10 ? value.toFixed(value < 1 ? 2 : 1) : Math.round(value)} ×`

/** The median with the lowest and the highest value. */
function spread(values: readonly number[]): string {
  const range = values.length > 1 ? ` (${number(Math.min(...values))}–${number(Math.max(...values))})` : ''
  return number(median(values)) + range
}

const names = Object.keys(operations) as Operation[]

function figures({ samples }: PeerResult, operation: Operation) {
  const found = samples[operation] ?? []
  if (found.length === 0) return undefined
  return {
    rates: found.map(({ rate }) => rate),
    efficiencies: found.map(efficiency),
    p99: median(found.map(({ p99 }) => p99)),
    processor: median(found.map(({ processor }) => processor)),
    database: median(found.map(({ database }) => database)),
  }
}

/** svc and the servers that it is compared with. */
function sidesOf({ peers }: PeersReport) {
  const own = peers.find(({ name }) => name === 'svc')
  if (!own) throw new Error('The report has no figures of svc.')
  return { own, others: peers.filter((peer) => peer !== own) }
}

/** How many times as many requests per processor second svc serves, or undefined if the server was not measured. */
function ratioOf(own: PeerResult, peer: PeerResult, operation: Operation): number | undefined {
  const [ours, theirs] = [figures(own, operation), figures(peer, operation)]
  return ours && theirs && median(ours.efficiencies) / median(theirs.efficiencies)
}

/** Rows with the ratios of svc to each server. */
export function ratioRows(report: PeersReport): string[][] {
  const { own, others } = sidesOf(report)
  const row = (title: string, ratio: (peer: PeerResult) => number | undefined) => [
    title,
    ...others.map((peer) => {
      const found = ratio(peer)
      return found === undefined ? '–' : factor(found)
    }),
  ]
  return [
    ['svc compared with', ...others.map(({ title, version }) => `${title} ${version}`)],
    ...names
      .map((name) => row(operations[name], (peer) => ratioOf(own, peer, name)))
      .filter((cells) => cells.slice(1).some((cell) => cell !== '–')),
    row('Idle memory', ({ idle }) => median(idle) / median(own.idle)),
    row('Start, processor time', ({ startTimes }) => median(startTimes) / median(own.startTimes)),
  ]
}

/** Rows with the figures of each operation and server. */
export function operationRows(report: PeersReport): string[][] {
  const { own } = sidesOf(report)
  const rows = names.flatMap((name) =>
    report.peers.flatMap((peer) => {
      const found = figures(peer, name)
      if (!found) return []
      const { rates, efficiencies, p99, processor, database } = found
      const ratio = peer === own ? '' : factor(ratioOf(own, peer, name) ?? 0)
      const times = [processor, database].map((time) => `${Math.round(time)}`)
      return [[operations[name], peer.title, spread(rates), spread(efficiencies), ...times, `${number(p99)} ms`, ratio]]
    }),
  )
  const head = [
    'Operation',
    'Server',
    'Requests/s',
    'Requests per processor second',
    'Server µs',
    'PostgreSQL µs',
    'p99',
    'svc',
  ]
  return [head, ...rows]
}

/** Rows with the start and the memory of each server. */
export function processRows({ peers }: PeersReport): string[][] {
  const rows = peers.map(({ title, version, store, starts, startTimes, idle, loaded }) => [
    title,
    version,
    store,
    `${spread(starts.map((time) => time / 1000))} s`,
    `${spread(startTimes.map((time) => time / 1000))} s`,
    `${spread(idle)} MB`,
    `${number(loaded)} MB`,
  ])
  return [
    ['Server', 'Version', 'Store', 'Start', 'Processor time of the start', 'Memory, idle', 'Memory, under load'],
    ...rows,
  ]
}

/** Sentences about the ratios below three. */
export function shortfalls(report: PeersReport): string[] {
  const { own, others } = sidesOf(report)
  return others.flatMap((peer) => {
    const below = names.flatMap((name) => {
      const ratio = ratioOf(own, peer, name)
      if (ratio === undefined || ratio >= aim) return []
      return [`${operations[name]} (${factor(ratio)}${hashing.includes(name) ? ', mostly hashing' : ''})`]
    })
    return below.length === 0 ? [] : [`- ${peer.title}: ${below.join('; ')}`]
  })
}

/** Rounds the figures of a sample to a useful precision. */
export const roundedSample = ({ rate, p50, p99, max, generator, processor, database }: PeerSample): PeerSample => ({
  rate: rounded(rate, 1),
  p50: rounded(p50, 2),
  p99: rounded(p99, 2),
  max: rounded(max, 2),
  generator: rounded(generator, 2),
  processor: rounded(processor, 1),
  database: rounded(database, 1),
})
