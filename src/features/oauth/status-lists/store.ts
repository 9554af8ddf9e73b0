import type { Database } from '../../../platform/database/database.ts'
import { execute, query } from '../../../platform/database/statements.ts'

/** Place of a token in a status list. */
interface StatusEntry {
  idx: number
  /** Encrypted claims of the token. */
  claims: string
}

const insert = {
  name: 'status-insert',
  text: 'INSERT INTO oauth_status_entries (list, idx, claims, expires_at) VALUES ($1, $2, $3, $4) ON CONFLICT (list, idx) DO NOTHING',
}

const page = {
  name: 'status-page',
  text: `SELECT idx, claims FROM oauth_status_entries WHERE list = $1 AND idx > $2 AND expires_at > $3
    ORDER BY idx LIMIT $4`,
}

/** Takes a place in a list; false if another token has it. */
export async function insertEntry(
  database: Database,
  { list, idx, claims, expiresAt }: StatusEntry & { list: number; expiresAt: number },
): Promise<boolean> {
  return (await execute(database, insert, [list, idx, claims, expiresAt])) > 0
}

/** Unexpired tokens of a list after an index, in order. */
export async function listEntries(
  database: Database,
  { list, after, now, count }: { list: number; after: number; now: number; count: number },
): Promise<StatusEntry[]> {
  const rows = await query(database, page, [list, after, now, count])
  return rows.map(({ idx, claims }) => ({ idx: Number(idx), claims: String(claims) }))
}
