import { table, updateSection } from './readme.ts'
import { median, rounded } from './report.ts'

/** The figures of one minute. */
export interface Minute {
  /** The median of the resident memory in MB (2^20 bytes), and its maximum. */
  memory: number
  most: number
  /** Operations per second by name. */
  rates: Record<string, number>
  /** The 99th percentile of bearer checks in milliseconds. */
  p99: number
}

/** The contents of `results/soak.json`. */
export interface SoakReport {
  date: string
  commit: string
  machine: Record<string, string | number | null>
  /** The load starts with the first minute. */
  minutes: Minute[]
}

/** The maximum growth of the memory. */
const driftTarget = 0.05

/** Minutes in which svc compiles what it runs and fills its caches. */
const warmUp = 5
/** The number of minutes at the beginning and at the end that are compared. */
const compared = 10

/** The growth of the memory between the first minutes after the warm-up and the last ones, as a ratio. */
function driftOf(minutes: readonly Minute[]): { first: number; last: number; drift: number } {
  const memory = (part: readonly Minute[]) => median(part.map((minute) => minute.memory))
  const [first, last] = [memory(minutes.slice(warmUp, warmUp + compared)), memory(minutes.slice(-compared))]
  return { first, last, drift: last / first - 1 }
}

const megabytes = (value: number): string => `${Math.round(value)} MB`

function linesOf({ date, commit, machine, minutes }: SoakReport): string[] {
  const { first, last, drift } = driftOf(minutes)
  const of = (pick: (minute: Minute) => number) => median(minutes.map(pick))
  const rates = Object.keys(minutes[0]?.rates ?? {}).map((name) => [
    `\`${name}\``,
    of(({ rates }) => rates[name] ?? 0).toLocaleString('en-GB', { maximumSignificantDigits: 3 }),
  ])
  const growth = `${drift > 0 ? '+' : ''}${(100 * drift).toFixed(1)} %`
  return [
    ...table([
      ['Minutes', 'Resident memory, median', 'Maximum', 'p99 of bearer checks'],
      ...partsOf(minutes).map(({ name, part }) => [
        name,
        megabytes(median(part.map(({ memory }) => memory))),
        megabytes(Math.max(...part.map(({ most }) => most))),
        `${rounded(median(part.map(({ p99 }) => p99)), 1)} ms`,
      ]),
    ]),
    '',
    `The median was ${megabytes(first)} in minutes ${warmUp + 1} to ${warmUp + compared}, and ${megabytes(last)} in the last ${compared} minutes: ${growth}.`,
    `The target, at most +${driftTarget * 100} %, is ${drift <= driftTarget ? 'met' : '**not met**'}.`,
    '',
    ...table([['Operation', 'Per second'], ...rates]),
    '',
    `Measured on ${date.slice(0, 10)} at commit \`${commit}\`, with ${machine.cores} cores, Node ${machine.node} and PostgreSQL ${machine.postgresql}.`,
  ]
}

/** The minutes in groups for the table. */
function partsOf(minutes: readonly Minute[]): { name: string; part: Minute[] }[] {
  const parts: { name: string; part: Minute[] }[] = []
  let begin = 0
  for (let end = warmUp; begin < minutes.length; end += compared) {
    const part = minutes.slice(begin, end)
    parts.push({ name: `${begin + 1}–${begin + part.length}`, part })
    begin = end
  }
  return parts
}

/** Writes the results into bench/README.md, except with `check`. Returns whether they differed. */
export const updateSoak = (check = false): boolean => updateSection('soak.json', linesOf, check)
