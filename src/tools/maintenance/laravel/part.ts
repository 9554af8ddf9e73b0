import type { Found, ImportItem } from '../../../identity/import-part.ts'
import type { Database, Tx } from '../../../platform/database/database.ts'
import { isDate, millisecondsOf, withoutControls } from '../../../platform/http/formats.ts'
import type { SourceRow } from './source/source.ts'

/** A kind of records that an import adds to its users. */
export interface ImportPart<Item extends ImportItem = ImportItem> {
  /** Names of its table; the import reads the first that exists. */
  tables: readonly string[]
  /** Possible columns of each value that `read` uses. */
  columns: Readonly<Record<string, readonly string[]>>
  /** Values whose column must exist. `owner` is always required. */
  required: readonly string[]
  /** Returns the record, or the reason to skip it. */
  read(row: SourceRow): Item | string
  /** Looks up the records. Returns the results in the same order. */
  find(tx: Tx, items: readonly Item[]): Promise<Found[]>
  insert(tx: Tx, items: readonly Item[], at: { engine: Database['engine']; now: number }): Promise<void>
}

/** Converts a part to the general type, which does not name the type of its records. */
// Sound: the import passes to a part only records that the part returned.
export const importPart = <Item extends ImportItem>(part: ImportPart<Item>): ImportPart => part as unknown as ImportPart

/** Reads a positive 64-bit integer; null for other text. */
export function rowId(text: string | null | undefined): bigint | null {
  if (!/^[1-9]\d{0,15}$/.test(text ?? '')) return null
  const id = BigInt(text ?? '')
  return id <= BigInt(Number.MAX_SAFE_INTEGER) ? id : null
}

/** Reads a date without offset as UTC; null for none, `invalid` for other text. */
function dateOf(text: string | null | undefined): Date | null | 'invalid' {
  if (text === null || text === undefined || text === '') return null
  // PostgreSQL writes the offset without minutes.
  const iso = text.replace(/([+-]\d{2})$/, (offset, _, at) => (at > 10 ? `${offset}:00` : offset))
  return isDate(iso) ? new Date(millisecondsOf(iso)) : 'invalid'
}

/** Reads several dates, or returns the reason why one is invalid. */
export function datesOf<Name extends string>(
  row: SourceRow,
  names: readonly Name[],
): Record<Name, Date | null> | string {
  const found: Partial<Record<Name, Date | null>> = {}
  for (const name of names) {
    const date = dateOf(row[name])
    if (date === 'invalid') return `the date in ${name} is invalid`
    found[name] = date
  }
  // Sound: every name was set.
  return found as Record<Name, Date | null>
}

/** Returns the text as one line of at most 255 characters. */
export const oneLine = (text: string | null | undefined): string =>
  [...withoutControls((text ?? '').toWellFormed()).trim()].slice(0, 255).join('')
