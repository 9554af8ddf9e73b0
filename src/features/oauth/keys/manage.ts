import { setTimeout } from 'node:timers/promises'
import type { EventContext } from '../../../identity/events.ts'
import { wireDate } from '../../../identity/wire-date.ts'
import type { CurrentConfig } from '../../../platform/config/current.ts'
import type { Database } from '../../../platform/database/database.ts'
import { type CreatedKey, createKeys } from './create-keys.ts'
import { type Algorithm, algorithms } from './jwk.ts'
import {
  type KeyTimes,
  keysInOrder,
  propagationTime,
  refreshInterval,
  rotationOf,
  stateOf,
  type WantedKey,
} from './rotation.ts'
import { KeySeal } from './seal.ts'
import { listKeys } from './store.ts'

interface KeyParts {
  config: CurrentConfig
  database: Database
}

/** How to replace a key: on schedule, immediately, or immediately with all older keys deleted. */
export type RotationMode = 'planned' | 'now' | 'withdraw'

/** Keys to create. With `planned`, svc creates no key for an algorithm whose next key is already published. */
function successors(
  keys: readonly KeyTimes[],
  names: readonly Algorithm[],
  mode: RotationMode,
  now: number,
  lead: number,
) {
  return names.flatMap((algorithm): WantedKey[] => {
    const line = keysInOrder(keys, algorithm)
    if (mode === 'withdraw' || line.length === 0) return [{ algorithm, signsFrom: now, withdraws: true }]
    if (mode === 'now') return [{ algorithm, signsFrom: now + propagationTime, withdraws: false }]
    const hasNext = line.some((key) => key.signsFrom > now)
    return hasNext ? [] : [{ algorithm, signsFrom: now + lead, withdraws: false }]
  })
}

/**
 * Replaces the signing keys of these algorithms; returns the new keys. After `withdraw`, resolves once every process has
 * read the change, so that none accepts the older keys any more.
 */
export async function rotateKeys(
  { config, database }: KeyParts,
  origin: EventContext,
  { algorithms: names, mode }: { algorithms: readonly Algorithm[]; mode: RotationMode },
): Promise<CreatedKey[]> {
  const settings = config.current()
  const { lead } = rotationOf(settings)
  const parts = { database, seal: new KeySeal(settings.app.secret), origin }
  const created = await createKeys(parts, (keys) => successors(keys, names, mode, origin.now, lead))
  if (mode === 'withdraw') await setTimeout(refreshInterval + 1_000)
  return created
}

/** The signing keys without their private parts. */
export async function listedKeys({ config, database }: KeyParts, now: number) {
  const seal = new KeySeal(config.current().app.secret)
  const keys = await listKeys(database)
  return algorithms
    .flatMap((algorithm) => keysInOrder(keys, algorithm))
    .map((key) => {
      const { kid, algorithm, createdAt, signsFrom, retiredAt } = key
      return {
        kid,
        algorithm,
        state: stateOf(key, keys, now),
        readable: seal.open(key) !== null,
        created_at: wireDate(new Date(createdAt)),
        signs_from: wireDate(new Date(signsFrom)),
        retired_at: retiredAt === null ? null : wireDate(new Date(retiredAt)),
      }
    })
}
