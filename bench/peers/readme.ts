import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { table, withSection } from '../support/readme.ts'
import { operationRows, type PeersReport, processRows, ratioRows, shortfalls } from './report.ts'

const root = join(import.meta.dirname, '../..')

const dateOf = ({ date }: PeersReport) => date.slice(0, 10)

/** The table of README.md. */
function ratiosOf(report: PeersReport): string[] {
  const { cores, processor } = report.machine
  return [
    ...table(ratioRows(report)),
    '',
    `By processor time, measured on ${dateOf(report)} (${processor}, ${cores} cores). Above 1 ×, svc needs less.`,
  ]
}

/** The tables of bench/peers.md. */
function figuresOf(report: PeersReport): string[] {
  const { seconds, rounds, connections } = report.options
  const { processor, cores, memory, node, java, postgresql, loadAverage } = report.machine
  const short = shortfalls(report)
  return [
    ...table(operationRows(report)),
    '',
    ...table(processRows(report)),
    '',
    `Measured on ${dateOf(report)} at commit \`${report.commit}\`: medians, and the lowest and the highest value, of ${rounds} rounds`,
    `of ${seconds} s with ${connections} connections, on a machine with ${cores} cores (${processor}) and ${memory}, Node ${node}, Java ${java},`,
    `and PostgreSQL ${postgresql}. The load average, including the benchmark, was ${loadAverage}. If other processes used`,
    'a part of the cores, rates are only lower bounds.',
    '',
    ...(report.note ? [report.note, ''] : []),
    ...(short.length === 0
      ? ['svc serves at least three times as many requests per processor second in every operation.']
      : ['svc serves less than three times as many requests per processor second in:', '', ...short]),
  ]
}

const sections = { 'README.md': ratiosOf, 'bench/peers.md': figuresOf }

/** Writes the results into README.md and bench/peers.md, except with `check`. Returns the files that differed. */
export function updatePeers(check = false): string[] {
  const results = join(root, 'bench/results/peers.json')
  if (!existsSync(results)) return []
  const report: PeersReport = JSON.parse(readFileSync(results, 'utf8'))
  return Object.entries(sections).flatMap(([file, linesOf]) => {
    const before = readFileSync(join(root, file), 'utf8')
    const after = withSection(before, 'peers.json', linesOf(report))
    if (after === before) return []
    if (!check) writeFileSync(join(root, file), after)
    return [file]
  })
}
