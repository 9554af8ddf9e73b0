import type { Database } from '../../../database/database.ts'
import { type EventContext, recordEvent } from '../../../users/events.ts'
import { newKey } from './jwk.ts'
import type { KeyTimes, WantedKey } from './rotation.ts'
import type { KeySeal } from './seal.ts'
import { changeKeys, deleteKeys, insertKey, listKeys, noteRetirements } from './store.ts'

/** What keys are made with. */
interface SuccessionParts {
  database: Database
  seal: KeySeal
  origin: EventContext
}

/** A key that was made. */
export type MadeKey = WantedKey & { kid: string }

/**
 * Makes the keys that `wanted` asks for, once, however many processes ask at the same time. It is asked again under the
 * lock, because another process may have made them meanwhile; answers what this call made.
 */
export async function makeKeys(
  { database, seal, origin }: SuccessionParts,
  wanted: (keys: readonly KeyTimes[]) => readonly WantedKey[],
): Promise<MadeKey[]> {
  const candidates = await Promise.all(
    wanted(await listKeys(database)).map(async ({ algorithm }) => ({ algorithm, key: await newKey(algorithm) })),
  )
  if (candidates.length === 0) return []
  return changeKeys(database, origin.now, async (tx, keys) => {
    const made: MadeKey[] = []
    for (const want of wanted(keys)) {
      const { algorithm, signsFrom, withdraws } = want
      const key = candidates.find((candidate) => candidate.algorithm === algorithm)?.key
      if (!key) continue
      const { kid } = key
      if (withdraws) await deleteKeys(tx, algorithm)
      await insertKey(tx, { kid, algorithm, sealed: seal.seal(key), createdAt: origin.now, signsFrom })
      await noteRetirements(tx, algorithm)
      // The first key of an algorithm replaces nothing.
      if (keys.some((before) => before.algorithm === algorithm)) {
        const data = { kid, algorithm, signs_from: new Date(signsFrom).toISOString(), withdraws }
        await recordEvent(tx, origin, { type: 'key_rotated', userId: null, target: `key:${kid}`, data })
      }
      made.push({ ...want, kid })
    }
    return made
  })
}
