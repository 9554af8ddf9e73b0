import { uncheckedText } from '../../platform/http/fields.ts'
import { Type } from '../../platform/json-schema.ts'

/** Query of a page with a list. */
export const ListQuery = Type.Object({ after: uncheckedText('The last entry of the previous page.') })

/** Maximum number of entries of one page. */
const maxEntries = 50

/** The entries of one page of a list, and the address of the page that continues it; null at the end. */
export interface ListPage<Entry> {
  entries: readonly Entry[]
  nextHref: string | null
}

/** Returns the entries that follow the one with the id `after`; the first ones if there is no such entry. */
export function listPage<Entry extends { id: string | number }>(
  path: string,
  all: readonly Entry[],
  after: unknown,
): ListPage<Entry> {
  const start = all.findIndex(({ id }) => String(id) === after) + 1
  const entries = all.slice(start, start + maxEntries)
  const last = entries.at(-1)
  const isEnd = last === undefined || start + entries.length >= all.length
  return { entries, nextHref: isEnd ? null : `${path}?${new URLSearchParams({ after: String(last.id) })}` }
}
