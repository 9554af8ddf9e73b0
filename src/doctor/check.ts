import { forTerminal } from '../observability/terminal.ts'

/** Result of one check. A warning does not fail the command. */
export interface Check {
  check: string
  status: 'ok' | 'warning' | 'error' | 'skipped'
  message: string
  /** The configuration key to change, if one would help. */
  key: string | null
}

type Make = (check: string, message: string, key?: string | null) => Check

/** A message may repeat text of the other side, which must neither add a line nor control the terminal. */
const made =
  (status: Check['status']): Make =>
  (check, message, key = null) => ({ check, status, message: forTerminal(message.replace(/\s+/g, ' ')), key })

export const ok = made('ok')
export const warning = made('warning')
export const failure = made('error')
export const skipped = made('skipped')

/** A text of the other side for a message, of limited length. */
export const quoted = (text: unknown): string => `"${String(text).slice(0, 200)}"`

/** The reason of an error, also of one per address. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return [...new Set(error.errors.map(reasonOf))].join(', ')
  return error instanceof Error ? error.message || String((error as NodeJS.ErrnoException).code) : String(error)
}
