import { forTerminal } from '../../platform/observability/terminal.ts'

/** Result of one check. A warning does not fail the command. */
export interface Check {
  check: string
  status: 'ok' | 'warning' | 'error' | 'skipped'
  message: string
  /** The configuration key to change, if one would help. */
  key: string | null
}

type Make = (check: string, message: string, key?: string | null) => Check

/** Removes line breaks and control characters: a message may quote the other server. */
const made =
  (status: Check['status']): Make =>
  (check, message, key = null) => ({ check, status, message: forTerminal(message.replace(/\s+/g, ' ')), key })

export const ok = made('ok')
export const warning = made('warning')
export const failure = made('error')
export const skipped = made('skipped')

/** Quotes text of the other server for a message, up to a maximum length. */
export const quoted = (text: unknown): string => `"${String(text).slice(0, 200)}"`
