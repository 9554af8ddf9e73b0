import { certificateHint } from '../crypto/tls-errors.ts'

/** What the messages of PostgreSQL and its driver mean for `database.url`. */
const hints: readonly (readonly [RegExp, string])[] = [
  [/password must be a (non-empty )?string/, 'database.url has no password, and the server asks for one'],
  [/does not support SSL/, 'The server offers no TLS: turn it on there, or use sslmode=disable in database.url'],
  [/pg_hba\.conf.*no encryption/, 'The server requires TLS: add sslmode=verify-full to database.url'],
]

/** Returns how to fix an error of a connection to the database; null if svc does not know. */
export function connectionHint(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  const known = hints.find(([pattern]) => pattern.test(error.message))
  return known?.[1] ?? certificateHint(error, 'sslrootcert in database.url')
}
