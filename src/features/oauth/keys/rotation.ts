import type { Config } from '../../../platform/config/schema.ts'
import { type Algorithm, algorithms } from './jwk.ts'

/** Times in the life of a key, in Unix milliseconds. */
export interface KeyTimes {
  kid: string
  algorithm: Algorithm
  createdAt: number
  /** When the key starts to sign. svc publishes it earlier. */
  signsFrom: number
  /** When its successor starts to sign; null without a successor. */
  retiredAt: number | null
}

/** Durations of key rotation, in milliseconds. */
export interface Rotation {
  /** How long a key signs. */
  every: number
  /** How long a key is published before it signs. */
  lead: number
  /** How long a key that no longer signs stays published. */
  keep: number
}

/** A key to create. */
export interface WantedKey {
  algorithm: Algorithm
  signsFrom: number
  /** Whether to delete all older keys of the algorithm immediately. */
  withdraws: boolean
}

/** Interval at which each process reads changes of other processes, in milliseconds. */
export const refreshInterval = 5_000

/** Time after which every process has read a change, in milliseconds. */
export const propagationTime = 2 * refreshInterval

const [minute, hour] = [60_000, 3_600_000]

/**
 * Returns the durations for a configuration. svc publishes keys an hour before they sign, which is six times the cache
 * age of the set. With very short rotation intervals, it publishes them a quarter of the interval earlier, at least a
 * minute.
 */
export function rotationOf({ oauth, clients, apis }: Config): Rotation {
  const { key_rotation: every, access_token_ttl, refresh_token_ttl, personal_access_token_ttl } = oauth
  const maxTtl = (key: 'access_token_ttl' | 'refresh_token_ttl', ...others: number[]) =>
    Math.max(...others, ...clients.map((client) => client[key] ?? 0))
  const apiTtls = Object.values(apis).map(({ token_ttl }) => token_ttl ?? 0)
  return {
    every,
    lead: Math.max(minute, Math.min(hour, every / 4)),
    keep:
      maxTtl('refresh_token_ttl', refresh_token_ttl) +
      maxTtl('access_token_ttl', access_token_ttl, personal_access_token_ttl, ...apiTtls),
  }
}

/**
 * Returns the maximum cache age of the key set in seconds, so that a client that fetched it just before a change gets the
 * new key before that key signs.
 */
export const cacheSeconds = ({ lead }: Rotation): number => Math.min(600, (lead - propagationTime) / 1_000)

/** Returns the keys of an algorithm in the order in which they sign, which is the same in every process. */
export const keysInOrder = <Key extends KeyTimes>(keys: readonly Key[], algorithm: Algorithm): Key[] =>
  keys
    .filter((key) => key.algorithm === algorithm)
    .sort((a, b) => a.signsFrom - b.signsFrom || (a.kid < b.kid ? -1 : 1))

/** Returns the key that signs now: the latest that has started, or the first one if this clock is late. */
export const signingKeyOf = <Key extends KeyTimes>(keys: readonly Key[], now: number): Key | undefined =>
  keys.findLast((key) => key.signsFrom <= now) ?? keys[0]

/** Returns the keys to create now: a missing one, which signs immediately, and the successors of keys to be retired. */
export function keysToCreate(keys: readonly KeyTimes[], { every, lead }: Rotation, now: number): WantedKey[] {
  return algorithms.flatMap((algorithm) => {
    const newest = keysInOrder(keys, algorithm).at(-1)
    if (!newest) return [{ algorithm, signsFrom: now, withdraws: false }]
    const isDue = newest.signsFrom <= now && newest.signsFrom + every - lead <= now
    return isDue ? [{ algorithm, signsFrom: now + lead, withdraws: false }] : []
  })
}

/** Tests whether every token that the key signed has expired. */
export const isExpired = ({ retiredAt }: KeyTimes, { keep }: Rotation, now: number): boolean =>
  retiredAt !== null && retiredAt + keep <= now

/** Returns the state of a key. */
export function stateOf(key: KeyTimes, keys: readonly KeyTimes[], now: number): 'next' | 'signing' | 'retired' {
  const signer = signingKeyOf(keysInOrder(keys, key.algorithm), now)
  if (signer?.kid === key.kid) return 'signing'
  return key.signsFrom > now ? 'next' : 'retired'
}
