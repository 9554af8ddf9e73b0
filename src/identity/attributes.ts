import type { Fields } from './fields.ts'

/** That a user accepted a version of the terms. */
export interface Acceptance {
  version: string
  /** ISO 8601. */
  accepted_at: string
}

/** What a user may have besides the name. A field that the user does not have is missing. */
export interface Attributes {
  given_name?: string
  family_name?: string
  /** An https URL, from a provider. */
  picture?: string
  /** Values of the fields in `users.fields`, by name. */
  fields?: Fields
  /** The accepted versions of the terms, the latest last. */
  terms?: readonly Acceptance[]
}

/** New values: null removes one, and undefined keeps it. */
export type AttributeChanges = { readonly [Name in keyof Attributes]?: Attributes[Name] | null | undefined }

const none: Attributes = Object.freeze({})

/** Reads the attributes of a row. */
export const attributesOf = (stored: string): Attributes => (stored === '{}' ? none : JSON.parse(stored))

const isEmpty = (value: unknown): boolean => typeof value === 'object' && Object.keys(value ?? {}).length === 0

/** The attributes after changes. */
function changed(
  { given_name, family_name, picture, fields, terms }: Attributes,
  changes: AttributeChanges,
): Attributes {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined)
  const all = Object.entries({ given_name, family_name, picture, fields, terms, ...Object.fromEntries(given) })
  return Object.fromEntries(all.filter(([, value]) => value !== undefined && value !== null && !isEmpty(value)))
}

/** The attributes after changes, as a row stores them. */
export const withAttributes = (before: Attributes, changes: AttributeChanges): string =>
  JSON.stringify(changed(before, changes))

/** Attributes without those that are null or missing. */
export const newAttributes = (given: AttributeChanges): Attributes => changed({}, given)
