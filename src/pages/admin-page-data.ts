import type { FormErrors } from './account-page-data.ts'
import type { FormField } from './form-fields.ts'
import type { TextName } from './texts.ts'

/** A text, or a time in ISO 8601, perhaps as the `{date}` of a text. */
export type Detail = string | { at: string; text: TextName | null }

/** A form with a single button. */
interface RowAction {
  /** Where it posts to. */
  action: string
  label: string
  /** What screen readers say, which tells equal buttons apart. */
  name: string
}

/** A record in a list. */
export interface AdminRow {
  title: string
  /** The page of the record; null for none. */
  href: string | null
  /** States of the record. */
  badges: readonly string[]
  isFailure: boolean
  details: readonly Detail[]
  action: RowAction | null
}

/** A part of an admin page. */
export type AdminBlock =
  | { kind: 'facts'; facts: readonly { label: string; value: Detail }[] }
  | {
      kind: 'rows'
      /** Also the id of the list. */
      name: string
      heading: string | null
      rows: readonly AdminRow[]
      /** The page that continues the list; null at its end. */
      nextHref: string | null
      /** Whether a script can keep the list up to date. */
      isLive: boolean
    }
  | {
      kind: 'form'
      /** Also the id of the form. */
      name: string
      /** Null for the only form of the page. */
      heading: string | null
      method: 'get' | 'post'
      action: string
      fields: readonly FormField[]
      submit: string
      isDanger: boolean
      backHref: string | null
    }
  | { kind: 'links'; heading: string | null; links: readonly { label: string; href: string; isDanger: boolean }[] }

/** Data of the pages below `/admin`. */
export interface AdminPageData {
  /** The overview, which lists the sections of the menu. */
  admin: Record<never, never>
  /** Every other page. */
  'admin-section': {
    title: string
    lead: string | null
    /** The page that led here; null for a section of the menu. */
    back: { label: string; href: string } | null
    /** The result of a form that changes nothing. */
    result: { text: string; isGood: boolean } | null
    blocks: readonly AdminBlock[]
    errors: FormErrors
  }
}
