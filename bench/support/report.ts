import type { BenchOptions } from './bench.ts'
import { type EqualTime, equalTimeTarget } from './equal-time.ts'
import { type FairLogins, fairLoginsTarget } from './fair-logins.ts'
import type { Comparison, MemoryFigures, memoryTargets, Sample } from './operations.ts'

/** The result of a comparison: medians and all samples. */
export interface Result {
  name: string
  title: string
  to: string
  target: number | null
  p99Target?: number
  ratio: number
  /** The ratio of each sample of the operation to the mean of the two base samples around it. */
  ratios: number[]
  /** The ratio of the 99th percentiles. */
  p99Ratio: number
  /** The ratio of requests per processor time of the server. A busy machine distorts it least. */
  processorRatio: number
  base: Sample
  op: Sample
  baseSamples: Sample[]
  opSamples: Sample[]
}

/** The contents of `results/latest.json`. */
export interface Report {
  date: string
  commit: string
  machine: Record<string, string | number | null>
  options: Pick<BenchOptions, 'seconds' | 'rounds' | 'connections'>
  results: Result[]
  memory: (MemoryFigures & { targets: typeof memoryTargets }) | null
  equalTime: EqualTime[] | null
  /** Absent in older reports. */
  fairLogins?: FairLogins | null
}

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}

export const rounded = (value: number, digits: number): number => Number(value.toFixed(digits))

function medianSample(samples: readonly Sample[]): Sample {
  const of = (pick: (sample: Sample) => number, digits: number) => rounded(median(samples.map(pick)), digits)
  const logins = samples.every((sample) => sample.logins !== undefined)
  return {
    rate: of((sample) => sample.rate, 0),
    p50: of((sample) => sample.p50, 2),
    p99: of((sample) => sample.p99, 2),
    max: of((sample) => sample.max, 2),
    generator: of((sample) => sample.generator, 2),
    processor: of((sample) => sample.processor, 1),
    memory: of((sample) => sample.memory, 1),
    ...(logins ? { logins: of((sample) => sample.logins ?? 0, 1) } : {}),
  }
}

/** Computes the result of alternating samples: base, operation, base, operation, …, base. */
export function resultOf(comparison: Comparison, baseSamples: Sample[], opSamples: Sample[]): Result {
  const { name, title, to, target, p99Target, workers } = comparison
  // By processor time with several workers, otherwise by rate.
  const speed = ({ rate, processor }: Sample) => (workers ? 1 / processor : rate)
  const ratios = opSamples.map((sample, i) => {
    const around = [baseSamples[i], baseSamples[i + 1]].filter((each) => each !== undefined)
    const base = around.reduce((sum, each) => sum + speed(each), 0) / around.length
    return rounded(((workers ?? 1) * speed(sample)) / base, 3)
  })
  const base = medianSample(baseSamples)
  const op = medianSample(opSamples)
  const facts = { name, title, to, target, ...(p99Target === undefined ? {} : { p99Target }) }
  const figures = {
    ratio: rounded(median(ratios), 3),
    ratios,
    p99Ratio: rounded(op.p99 / base.p99, 2),
    processorRatio: rounded(base.processor / op.processor, 3),
  }
  const each = (samples: Sample[]) => samples.map((sample) => medianSample([sample]))
  return { ...facts, ...figures, base, op, baseSamples: each(baseSamples), opSamples: each(opSamples) }
}

/** A figure and its target. */
interface Figure {
  title: string
  /** The base of a ratio. */
  to?: string
  value: number
  target: number | null
  /** Whether the figure should reach the target or stay below it. */
  wanted: 'at least' | 'at most'
  unit: string
}

/** A figure with its formatted texts. */
interface Line extends Figure {
  measured: string
  wish: string
  isMet: boolean
}

/** The selected measurements. */
type Measured = Pick<Report, 'results' | 'memory' | 'equalTime' | 'fairLogins'>

/** All figures with their targets, in the order of the report. */
export const linesOf = (measured: Measured): Line[] =>
  figuresOf(measured).map((line) => ({ ...line, measured: figure(line), wish: wish(line), isMet: isMet(line) }))

const fairFigure = ({ ratio }: FairLogins): Figure => ({
  title: 'Sign-ins while another address sends 150 guesses at once',
  to: 'their quiet median',
  value: ratio,
  target: fairLoginsTarget,
  wanted: 'at most',
  unit: '×',
})

function figuresOf({ results, memory, equalTime, fairLogins }: Measured): Figure[] {
  const ratios = results.map(({ title, to, ratio, target }): Figure => {
    return { title, to, value: ratio, target, wanted: 'at least', unit: '' }
  })
  const slower = results.flatMap(({ title, to, p99Ratio, p99Target }): Figure[] =>
    p99Target ? [{ title: `${title}: p99`, to, value: p99Ratio, target: p99Target, wanted: 'at most', unit: '×' }] : [],
  )
  const doors = (equalTime ?? []).map(({ channel, ratio }): Figure => {
    const title = `Known to unknown addresses, ${channel}`
    return { title, value: ratio, target: equalTimeTarget, wanted: 'at most', unit: '×' }
  })
  const fair = fairLogins ? [fairFigure(fairLogins)] : []
  if (!memory) return [...ratios, ...slower, ...doors, ...fair]
  const most = Math.max(memory.bearer, memory.session, memory.logins)
  const shared = { wanted: 'at most', unit: ' MB' } as const
  return [
    ...ratios,
    ...slower,
    ...doors,
    ...fair,
    { title: 'Resident memory, idle', value: memory.idle, target: memory.targets.idle, ...shared },
    { title: 'Resident memory, under load', value: most, target: memory.targets.load, ...shared },
  ]
}

const isMet = ({ value, target, wanted }: Figure): boolean =>
  target === null || (wanted === 'at least' ? value >= target : value <= target)
const figure = ({ value, unit }: Figure): string =>
  unit === ' MB' ? `${Math.round(value)} MB` : `${value.toFixed(unit === '' ? 3 : 2)}${unit}`
const wish = ({ wanted, target, unit }: Figure): string =>
  target === null ? '' : `${wanted === 'at least' ? '≥' : '≤'} ${target}${unit}`

/** The report as text: the figures with their targets, then the details. */
export function tableOf(report: Measured): string {
  const lines = linesOf(report)
  const against = columns([
    ['', 'measured', 'target', ''],
    ...lines.map(({ title, measured, wish, isMet }) => [title, measured, wish, wish && (isMet ? 'met' : 'MISSED')]),
  ])
  if (report.results.length === 0) return against
  const number = (value: number) => Math.round(value).toLocaleString('en')
  const row = (title: string, { rate, p50, p99, processor, generator, logins }: Sample, note = '') => [
    title,
    number(rate),
    p50.toFixed(1),
    p99.toFixed(1),
    processor.toFixed(1),
    `${Math.round(generator * 100)} %`,
    [note, ...(logins === undefined ? [] : [`${Math.round(logins)} logins/s beside`])].join(', '),
  ]
  const behind = columns([
    ['', 'req/s', 'p50 ms', 'p99 ms', 'CPU µs', 'generator', ''],
    ...report.results.flatMap(({ title, to, base, op, ratios, processorRatio }) => [
      row(title, op, `ratios ${ratios.join(' ')}, by CPU time ${processorRatio}`),
      row(`  to: ${to}`, base),
    ]),
  ])
  return `${against}\n\n${behind}`
}

function columns(rows: readonly string[][]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)))
  const last = widths.length - 1
  const cell = (text: string, i: number) =>
    i === 0 || i === last ? text.padEnd(widths[i] ?? 0) : text.padStart(widths[i] ?? 0)
  return rows.map((row) => row.map(cell).join('  ').trimEnd()).join('\n')
}

const escaped = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;')

/** The figures as a bar chart with their targets. */
export function chartOf(report: Report): string {
  // Without a target, there is no bar to compare.
  const lines = linesOf(report).flatMap((entry) => (entry.target === null ? [] : { ...entry, target: entry.target }))
  const groups = [
    { heading: 'More is better: the bar should reach the line', lines: lines.filter((l) => l.wanted === 'at least') },
    { heading: 'Less is better: the bar should end before it', lines: lines.filter((l) => l.wanted === 'at most') },
  ].filter((group) => group.lines.length > 0)
  const left = 330
  const line = 250
  const widest = 340
  let y = 58
  const parts: string[] = []
  for (const group of groups) {
    parts.push(`<text x="16" y="${y}" class="heading">${group.heading}</text>`)
    y += 12
    for (const entry of group.lines) {
      const width = Math.max(2, Math.min(widest, (entry.value / entry.target) * line)).toFixed(1)
      const middle = y + 18
      parts.push(
        `<text x="${left - 12}" y="${middle}" class="name">${escaped(entry.title)}</text>`,
        `<rect x="${left}" y="${y + 4}" width="${width}" height="20" rx="3" class="${entry.isMet ? 'met' : 'missed'}"/>`,
        `<line x1="${left + line}" x2="${left + line}" y1="${y}" y2="${y + 28}" class="target"/>`,
        `<text x="${left + widest + 12}" y="${middle}"><tspan class="value">${entry.measured}</tspan>` +
          `<tspan class="quiet"> ${entry.wish}</tspan></text>`,
      )
      y += 34
    }
    y += 26
  }
  const { date, machine, commit } = report
  const facts = `${date.slice(0, 10)} · ${commit} · ${machine.cores} cores, Node ${machine.node}, PostgreSQL ${machine.postgresql}`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 820 ${y + 4}" width="820" height="${y + 4}" role="img" aria-label="Measured figures against their targets">
<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 16px; font-weight: 600 }
  .heading, .quiet { fill: #59636e }
  .name { text-anchor: end }
  .value { font-weight: 600 }
  .paper { fill: #ffffff }
  .met { fill: #2f81d0 }
  .missed { fill: #d1570b }
  .target { stroke: #1f2328; stroke-width: 2; stroke-dasharray: 4 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .heading, .quiet { fill: #9198a1 }
    .paper { fill: #0d1117 }
    .met { fill: #4493f8 }
    .missed { fill: #f0883e }
    .target { stroke: #e6edf3 }
  }
</style>
<rect width="100%" height="100%" class="paper"/>
<text x="16" y="28" class="title">svc: measured against targets</text>
${parts.join('\n')}
<text x="16" y="${y - 8}" class="quiet">${escaped(facts)}</text>
</svg>
`
}
