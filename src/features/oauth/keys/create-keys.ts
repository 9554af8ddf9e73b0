import { type EventContext, recordEvent } from '../../../identity/events.ts'
import type { Database } from '../../../platform/database/database.ts'
import { newKey } from './jwk.ts'
import type { KeyTimes, WantedKey } from './rotation.ts'
import type { KeySeal } from './seal.ts'
import { changeKeys, deleteKeys, insertKey, listKeys, updateRetirements } from './store.ts'

/** Dependencies of the creation of keys. */
interface CreateParts {
  database: Database
  seal: KeySeal
  origin: EventContext
}

/** A key that this process created. */
export type CreatedKey = WantedKey & { kid: string }

/**
 * Creates the keys that `wanted` returns, once across all processes, and returns those that this call created. Calls
 * `wanted` again under the lock, because another process may have created the keys meanwhile.
 */
export async function createKeys(
  { database, seal, origin }: CreateParts,
  wanted: (keys: readonly KeyTimes[]) => readonly WantedKey[],
): Promise<CreatedKey[]> {
  const candidates = await Promise.all(
    wanted(await listKeys(database)).map(async ({ algorithm }) => ({ algorithm, key: await newKey(algorithm) })),
  )
  if (candidates.length === 0) return []
  return changeKeys(database, origin.now, async (tx, keys) => {
    const made: CreatedKey[] = []
    for (const want of wanted(keys)) {
      const { algorithm, signsFrom, withdraws } = want
      const key = candidates.find((candidate) => candidate.algorithm === algorithm)?.key
      if (!key) continue
      const { kid } = key
      if (withdraws) await deleteKeys(tx, algorithm)
      await insertKey(tx, { kid, algorithm, sealed: seal.seal(key), createdAt: origin.now, signsFrom })
      await updateRetirements(tx, algorithm)
      // The first key of an algorithm is not a rotation.
      if (keys.some((before) => before.algorithm === algorithm)) {
        const data = { kid, algorithm, signs_from: new Date(signsFrom).toISOString(), withdraws }
        await recordEvent(tx, origin, { type: 'key_rotated', userId: null, target: `key:${kid}`, data })
      }
      made.push({ ...want, kid })
    }
    return made
  })
}
