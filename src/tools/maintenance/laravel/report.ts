/** A line of the report. */
export interface ReportLine {
  table: string
  result: 'to import' | 'imported' | 'already there' | 'skipped'
  rows: number
  reason: string | null
  /** Ids of the first rows of Laravel, to look them up there. */
  ids: string[]
}

/** Number of ids in a line. */
const maxIds = 5

/** What happened to one row. */
export interface Outcome {
  table: string
  result: 'import' | 'already there' | 'skipped'
  reason?: string
  id?: string | null | undefined
}

/** Counts what happened to rows. Never contains their values. */
export class ImportReport {
  readonly #lines = new Map<string, ReportLine>()
  readonly #applies: boolean

  constructor(applies: boolean) {
    this.#applies = applies
  }

  add({ table, result, reason, id }: Outcome, rows = 1): void {
    const key = JSON.stringify([table, result, reason])
    const shown = result === 'import' ? (this.#applies ? 'imported' : 'to import') : result
    const line = this.#lines.get(key) ?? { table, result: shown, rows: 0, reason: reason ?? null, ids: [] }
    line.rows += rows
    if (reason && id && line.ids.length < maxIds) line.ids.push(id.slice(0, 40))
    this.#lines.set(key, line)
  }

  /** Returns the number of rows of a table in the report. */
  countOf(table: string): number {
    return this.lines.filter((line) => line.table === table).reduce((sum, { rows }) => sum + rows, 0)
  }

  get lines(): ReportLine[] {
    return [...this.#lines.values()]
  }
}
