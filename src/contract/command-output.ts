import type { Terminal } from './command.ts'

/** Option of commands that print records. */
export const jsonOption = {
  description: 'Print JSON, one object per line. The default if the output is not a terminal',
}

/** Maximum width of a cell. */
const maxWidth = 60

/** Returns the text of a value in a table, always as one line. */
function cellOf(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-'
  if (Array.isArray(value)) return cellOf(value.map((item) => cellOf(item)).join(' '))
  const text = (typeof value === 'object' ? JSON.stringify(value) : String(value)).replace(/[\n\t]/g, ' ')
  const characters = [...text]
  return characters.length > maxWidth ? `${characters.slice(0, maxWidth - 1).join('')}…` : text
}

const heading = (key: string): string => key.replaceAll('_', ' ').toUpperCase()

/** Returns the lines of a table with these columns. */
function tableOf<Row extends object>(rows: readonly Row[], columns: readonly (keyof Row & string)[]): string[] {
  const cells = [columns.map(heading), ...rows.map((row) => columns.map((column) => cellOf(row[column])))]
  const widths = columns.map((_, at) => Math.max(...cells.map((line) => [...(line[at] ?? '')].length)))
  return cells.map((line) =>
    line
      .map((cell, at) => cell + ' '.repeat((widths[at] ?? 0) - [...cell].length))
      .join('  ')
      .trimEnd(),
  )
}

/** How a command prints its records. */
interface Output<Row> {
  json: true | undefined
  /** Columns of the table. JSON has all fields. */
  columns: readonly (keyof Row & string)[]
  /** Printed on a terminal instead of an empty table. */
  empty: string
}

/** Prints records: a table on a terminal, otherwise one JSON object per line. */
export function printRows<Row extends object>(
  { print, isTerminal }: Terminal,
  rows: readonly Row[],
  { json, columns, empty }: Output<Row>,
): void {
  if (json || !isTerminal) for (const row of rows) print(JSON.stringify(row))
  else if (rows.length === 0) print(empty)
  else for (const line of tableOf(rows, columns)) print(line)
}

const isRow = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Prints one record: its fields and tables of its lists on a terminal, otherwise one JSON object. */
export function printRecord({ print, isTerminal }: Terminal, record: object, json: true | undefined): void {
  if (json || !isTerminal) {
    print(JSON.stringify(record))
    return
  }
  const entries = Object.entries(record)
  const isTable = (value: unknown): value is object[] => Array.isArray(value) && value.length > 0 && value.every(isRow)
  const fields = entries.filter(([, value]) => !isTable(value))
  const width = Math.max(0, ...fields.map(([key]) => key.length))
  for (const [key, value] of fields) {
    print(
      `${key.replaceAll('_', ' ').padEnd(width)}  ${cellOf(Array.isArray(value) && value.length === 0 ? null : value)}`,
    )
  }
  for (const [key, value] of entries) {
    if (!isTable(value)) continue
    print(`\n${heading(key)}`)
    const columns = [...new Set(value.flatMap((row) => Object.keys(row)))]
    for (const line of tableOf(value as Record<string, unknown>[], columns)) print(`  ${line}`)
  }
}
