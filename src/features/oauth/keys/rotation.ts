import type { Config } from '../../../config/schema.ts'
import { type Algorithm, algorithms } from './jwk.ts'

/** When a key does what, in unix milliseconds. */
export interface KeyTimes {
  kid: string
  algorithm: Algorithm
  createdAt: number
  /** From when it signs; it is published before. */
  signsFrom: number
  /** From when its successor signs; null while it has none. */
  retiredAt: number | null
}

/** The durations of rotation, in milliseconds. */
export interface Rotation {
  /** How long a key signs. */
  every: number
  /** How long a key is published before it signs. */
  lead: number
  /** How long a key that no longer signs stays published. */
  keep: number
}

/** A key that is to be made. */
export interface WantedKey {
  algorithm: Algorithm
  signsFrom: number
  /** Whether every older key of the algorithm leaves the set in the same moment. */
  withdraws: boolean
}

/** How often each process looks for what the others changed, in milliseconds. */
export const refreshEvery = 15_000

/** After so many milliseconds every process that reaches the database has seen a change. */
export const settled = 2 * refreshEvery

const [minute, hour] = [60_000, 3_600_000]

/**
 * The durations that a configuration asks for. Keys are published an hour before they sign, six times as long as the set
 * may be cached; less, down to a minute, where they are replaced every few hours or minutes.
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
 * Cache lifetime of the key set in seconds: a client that fetched it just before a change knows the new key before it
 * signs.
 */
export const cacheSeconds = ({ lead }: Rotation): number => Math.min(600, (lead - settled) / 1_000)

/** The keys of an algorithm in the order in which they sign, the same in every process. */
export const lineOf = <Key extends KeyTimes>(keys: readonly Key[], algorithm: Algorithm): Key[] =>
  keys
    .filter((key) => key.algorithm === algorithm)
    .sort((a, b) => a.signsFrom - b.signsFrom || (a.kid < b.kid ? -1 : 1))

/** The key of a line that signs now: the latest whose time has come, or, where clocks differ, the first at all. */
export const signerOf = <Key extends KeyTimes>(line: readonly Key[], now: number): Key | undefined =>
  line.findLast((key) => key.signsFrom <= now) ?? line[0]

/** The keys that must be made now: one that signs at once where there is none, and successors of those that grow old. */
export function dueKeys(keys: readonly KeyTimes[], { every, lead }: Rotation, now: number): WantedKey[] {
  return algorithms.flatMap((algorithm) => {
    const newest = lineOf(keys, algorithm).at(-1)
    if (!newest) return [{ algorithm, signsFrom: now, withdraws: false }]
    const isDue = newest.signsFrom <= now && newest.signsFrom + every - lead <= now
    return isDue ? [{ algorithm, signsFrom: now + lead, withdraws: false }] : []
  })
}

/** Whether nothing that the key may have signed is of use any more. */
export const isOver = ({ retiredAt }: KeyTimes, { keep }: Rotation, now: number): boolean =>
  retiredAt !== null && retiredAt + keep <= now

/** What a key is doing. */
export function stateOf(key: KeyTimes, keys: readonly KeyTimes[], now: number): 'next' | 'signing' | 'retired' {
  const signer = signerOf(lineOf(keys, key.algorithm), now)
  if (signer?.kid === key.kid) return 'signing'
  return key.signsFrom > now ? 'next' : 'retired'
}
