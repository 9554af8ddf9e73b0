import type { AdminBlock, AdminRow, Detail } from '../../../pages/admin-page-data.ts'
import type { FormField } from '../../../pages/form-fields.ts'
import type { TextName } from '../../../pages/texts.ts'

type Rows = Extract<AdminBlock, { kind: 'rows' }>
type Form = Extract<AdminBlock, { kind: 'form' }>

/** A list of records. The heading, the next page and live updates are optional. */
export const rowsOf = (facts: Partial<Rows> & Pick<Rows, 'name' | 'rows'>): Rows => ({
  kind: 'rows',
  heading: null,
  nextHref: null,
  isLive: false,
  ...facts,
})

/** A form that posts, unless the given facts say something else. */
export const formBlockOf = (facts: Partial<Form> & Pick<Form, 'name' | 'action' | 'submit'>): Form => ({
  kind: 'form',
  heading: null,
  method: 'post',
  fields: [],
  isDanger: false,
  backHref: null,
  ...facts,
})

/** A form that filters the list below it. */
export const searchOf = (action: string, submit: string, fields: readonly FormField[]): Form =>
  formBlockOf({ name: 'search', method: 'get', action, submit, fields })

/** A row without links, badges, details and a button, unless the given facts add them. */
export const rowOf = (facts: Partial<AdminRow> & { title: string }): AdminRow => ({
  href: null,
  badges: [],
  isFailure: false,
  details: [],
  action: null,
  ...facts,
})

/** An optional text field, unless the given facts say something else. */
export const fieldOf = (facts: Partial<FormField> & { name: string; label: string }): FormField => ({
  kind: 'text',
  value: '',
  options: [],
  hint: null,
  autocomplete: 'off',
  maxLength: 255,
  isRequired: false,
  isReadOnly: false,
  ...facts,
})

/** Records on one page of a list. */
const perPage = 50

/** How many records a page reads: one more than it shows tells whether there is a next page. */
export const take = perPage + 1

/** Returns the records that a page shows, and the address of the next page; null on the last page. */
export function pageOf<Found>(
  found: readonly Found[],
  hrefAfter: (last: Found) => string,
): { shown: Found[]; nextHref: string | null } {
  const shown = found.slice(0, perPage)
  const last = found.length > perPage ? shown.at(-1) : undefined
  return { shown, nextHref: last === undefined ? null : hrefAfter(last) }
}

/** A time, as the `{date}` of a text if one is given; null without a time. */
export const timeOf = (at: string | Date | null | undefined, text: TextName | null = null): Detail | null =>
  at ? { at: typeof at === 'string' ? at : at.toISOString(), text } : null

/** The values of a list without those that are missing or empty. */
export const present = <Value>(values: readonly (Value | null | false | undefined | '')[]): Value[] =>
  values.filter((value): value is Value => value !== null && value !== false && value !== undefined && value !== '')
