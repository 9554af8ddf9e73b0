import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { linesOf, type Report } from './report.ts'

const root = join(import.meta.dirname, '../..')

/** The generated section: the table, and how the samples were taken. */
function linesOfReadme(report: Report): string[] {
  const details = new Map(report.results.map((result) => [result.title + result.to, result]))
  const rows = linesOf(report).map(({ title, to = '', measured, wish, isMet }) => {
    const p99 = details.get(title + to)?.op.p99
    const latency = p99 === undefined ? '' : `${p99} ms`
    return [title, to, measured, latency, wish, wish === '' ? '' : isMet ? 'yes' : '**no**']
  })
  const { seconds, rounds, connections } = report.options
  const verdicts = rows.map((row) => row.at(-1)).filter((verdict) => verdict !== '')
  const missed = verdicts.filter((verdict) => verdict !== 'yes').length
  const { cores, postgresql, node } = report.machine
  return [
    ...table([['Operation', 'Compared with', 'Measured', 'p99', 'Target', 'Met'], ...rows]),
    '',
    `Measured on ${report.date.slice(0, 10)} at commit \`${report.commit}\`: medians of ${rounds} rounds of ${seconds} s with`,
    `${connections} connections, on a shared machine with ${cores} cores, Node ${node} and PostgreSQL ${postgresql}.`,
    missed === 0 ? 'All targets are met.' : `Of ${verdicts.length} targets, ${missed} are missed.`,
  ]
}

export function table(rows: string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)))
  const line = (cells: string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
  const [head = [], ...body] = rows
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)]
}

/** Replaces the section of a document that shows a file of `bench/results`. */
export function withSection(text: string, results: string, lines: readonly string[]): string {
  const [begin, end] = [`<!-- bench/results/${results}: begin -->`, `<!-- bench/results/${results}: end -->`]
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`There is no section between "${begin}" and "${end}".`)
  return `${text.slice(0, from)}${[begin, '', ...lines, '', end].join('\n')}${text.slice(to + end.length)}`
}

/** Replaces the generated section of a README. */
export const withResults = (readme: string, report: Report): string =>
  withSection(readme, 'latest.json', linesOfReadme(report))

/** Writes the results into bench/README.md, except with `check`. Returns whether they differed. */
export const updateReadme = (check = false): boolean => updateSection('latest.json', linesOfReadme, check)

/**
 * Writes the lines for a file of `bench/results` into its section of bench/README.md, except with `check`. Returns whether
 * they differed.
 */
export function updateSection<Report>(results: string, linesOf: (report: Report) => string[], check: boolean): boolean {
  const report: Report = JSON.parse(readFileSync(join(root, 'bench/results', results), 'utf8'))
  const file = join(root, 'bench/README.md')
  const before = readFileSync(file, 'utf8')
  const after = withSection(before, results, linesOf(report))
  if (after !== before && !check) writeFileSync(file, after)
  return after !== before
}
