import { sha256Hex } from '../../platform/crypto/hash.ts'
import { deleteOutdated } from '../../platform/database/batches.ts'
import type { Database } from '../../platform/database/database.ts'
import { execute } from '../../platform/database/statements.ts'

/**
 * What a key is used for. Features declare their own purposes. The name is part of the stored hash, so renaming one makes
 * used keys valid again.
 * @public
 */
export interface UsedOncePurposes {
  ReplayDetection: true
}

const insert = {
  name: 'use-once',
  text: 'INSERT INTO used_once (id, expires_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING',
}

/**
 * Marks a key as used until `expiresAt` (unix ms); false when it was used before, on any replica.
 * Always in the database, also with Redis: a mark that Redis loses would make the key valid again.
 */
export async function useOnce(
  database: Database,
  purpose: keyof UsedOncePurposes,
  key: string,
  expiresAt: number,
): Promise<boolean> {
  return (await execute(database, insert, [sha256Hex(`${purpose}\0${key}`), expiresAt])) > 0
}

/** Deletes the marks of keys that have expired. */
export async function pruneUsedOnce(database: Database, now: number): Promise<void> {
  await deleteOutdated(database, { table: 'used_once', date: 'expires_at', before: now })
}
