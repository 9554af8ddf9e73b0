/** How the ORM, PostgreSQL and SQLite name a foreign key that leads nowhere. */
const codes = new Set<unknown>(['P2003', '23503', '787'])

/** Whether a row was refused because its user was deleted a moment before: users are all that rows refer to. */
export function isMissingUser(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, meta } = error as Error & { code?: unknown; meta?: { code?: unknown } }
  // A raw statement's own code is in what the ORM says about it.
  return codes.has(code) || (code === 'P2010' && codes.has(meta?.code))
}
