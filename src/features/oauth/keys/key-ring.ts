import type { FastifyBaseLogger } from 'fastify'
import { systemOrigin } from '../../../identity/events.ts'
import type { Clock } from '../../../platform/clock.ts'
import { ConfigError } from '../../../platform/config/config-error.ts'
import { type CurrentConfig, deepFreeze } from '../../../platform/config/current.ts'
import type { Config } from '../../../platform/config/schema.ts'
import type { Database } from '../../../platform/database/database.ts'
import type { EventSubscriber } from '../../../platform/jobs/event-subscriber.ts'
import type { Metrics } from '../../../platform/observability/metrics/metrics.ts'
import { createKeys } from './create-keys.ts'
import { type Algorithm, algorithms, type PrivateJwk, type PublicJwk, publicPart } from './jwk.ts'
import {
  cacheSeconds,
  isExpired,
  type KeyTimes,
  keysInOrder,
  keysToCreate,
  type Rotation,
  refreshInterval,
  rotationOf,
  signingKeyOf,
} from './rotation.ts'
import { KeySeal } from './seal.ts'
import { deleteRetired, listKeys, resealKey, type StoredKey } from './store.ts'

/** Frozen snapshot of the keys. */
export interface KeySet {
  /** Changes whenever a key is added or removed, or starts to sign. */
  version: string
  /** The key of each algorithm that currently signs. */
  signing: Readonly<Record<Algorithm, PrivateJwk>>
  /** All keys. For each algorithm, the one that signs comes first and those that will sign come last. */
  private: readonly PrivateJwk[]
  /** The key set to publish (RFC 7517). */
  public: { keys: PublicJwk[] }
  /** Maximum cache age of the published set, in seconds. */
  maxAge: number
}

interface KeyRingParts {
  database: Database
  clock: Clock
  config: CurrentConfig
  log: FastifyBaseLogger
  subscriber: EventSubscriber
  metrics?: Metrics | null
}

/** A decrypted key and its times. */
interface RingKey extends KeyTimes {
  jwk: PrivateJwk
  published: PublicJwk
}

/** Minimum interval between database lookups of unknown keys, in milliseconds. */
const pollInterval = 1_000

/**
 * How long a process runs before it encrypts stored data again with the first secret, in milliseconds. A deployment that
 * is rolled back before then can still decrypt everything.
 */
export const reencryptAfter = 3_600_000

/** The keys that sign tokens. Creates, rotates and removes them automatically. All processes share them. */
export class KeyRing {
  readonly #parts: KeyRingParts
  readonly #seal: KeySeal
  readonly #openedAt: number
  readonly #listeners = new Set<(set: KeySet) => void>()
  readonly #reported = new Set<string>()
  #keys: readonly RingKey[] = []
  #set: KeySet | undefined
  /** When `#set` becomes stale, because the next key starts to sign. */
  #setUntil = Number.POSITIVE_INFINITY
  /** The configuration that `#set` was computed for. */
  #setFor: Config | undefined
  #announced = ''
  #refreshing: Promise<void> | undefined
  #refreshedAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined

  private constructor(parts: KeyRingParts) {
    this.#parts = parts
    this.#seal = new KeySeal(parts.config.current().app.secret)
    this.#openedAt = parts.clock.now()
  }

  /**
   * Loads the keys, creates missing ones, and keeps them up to date. Throws a ConfigError if no secret decrypts a key in
   * use.
   */
  static async open(parts: KeyRingParts): Promise<KeyRing> {
    const ring = new KeyRing(parts)
    await ring.refresh()
    ring.#timer = setInterval(() => {
      ring.refresh().catch((error) => parts.log.warn({ err: error }, 'cannot read the signing keys'))
    }, refreshInterval).unref()
    return ring
  }

  /** Returns the keys as of now. A key starts to sign at its time, even if the database cannot be read. */
  current(): KeySet {
    const now = this.#parts.clock.now()
    const isStale = now >= this.#setUntil || this.#setFor !== this.#parts.config.current()
    if (!this.#set || isStale) this.#arrange(now)
    if (!this.#set) throw new Error('The key ring is empty.')
    return this.#set
  }

  /** Returns how long the current key of each algorithm has been signing, in milliseconds. */
  signingAges(): Map<Algorithm, number> {
    const now = this.#parts.clock.now()
    const ages = algorithms.map((algorithm): [Algorithm, number] => {
      const signer = signingKeyOf(keysInOrder(this.#keys, algorithm), now)
      return [algorithm, now - (signer?.signsFrom ?? now)]
    })
    return new Map(ages)
  }

  /** Calls the listener within seconds after the version of the set changes. */
  onChange(listener: (set: KeySet) => void): void {
    this.#listeners.add(listener)
  }

  /** Reads the keys again. Creates, re-encrypts and deletes those that are due. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  /** Tests whether a key with this id exists. Looks for an unknown one in the database, at most once a second. */
  async knows(kid: string): Promise<boolean> {
    const now = this.#parts.clock.now()
    if (!this.#has(kid) && now - this.#refreshedAt >= pollInterval) await this.refresh()
    return this.#has(kid)
  }

  /** Stops refreshing, and waits for a refresh in progress. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#refreshing?.catch(() => undefined)
  }

  #has(kid: string): boolean {
    return this.#keys.some((key) => key.kid === kid)
  }

  async #refresh(): Promise<void> {
    const { database, clock, config, log, subscriber, metrics = null } = this.#parts
    const now = clock.now()
    this.#refreshedAt = now
    const rotation = rotationOf(config.current())
    let stored = await listKeys(database)
    if (keysToCreate(stored, rotation, now).length > 0) {
      const origin = { ...systemOrigin({ now, subscriber }), log, metrics }
      await createKeys({ database, seal: this.#seal, origin }, (keys) => keysToCreate(keys, rotation, now))
      stored = await listKeys(database)
    }
    if (stored.some((key) => isExpired(key, rotation, now))) await deleteRetired(database, now - rotation.keep)
    this.#adopt(
      stored.filter((key) => !isExpired(key, rotation, now)),
      now,
    )
    if (now - this.#openedAt >= reencryptAfter) await this.#reseal(stored)
  }

  /** Replaces the keys in memory. Throws if an algorithm would have no usable key; the previous keys then remain. */
  #adopt(stored: readonly StoredKey[], now: number): void {
    const keys = stored.map((key) => this.#opened(key) ?? key)
    const readable = keys.filter((key) => 'jwk' in key)
    const isFirst = this.#keys.length === 0
    for (const key of keys) {
      if ('jwk' in key) continue
      const isInUse = key.retiredAt === null || key.retiredAt > now
      if (isFirst && isInUse) throw unreadable(key)
      if (!this.#reported.has(key.kid)) {
        const facts = { kid: key.kid, algorithm: key.algorithm }
        this.#parts.log.error(facts, 'no secret in app.secret decrypts a signing key, rejecting the tokens it signed')
      }
      this.#reported.add(key.kid)
    }
    const isComplete = algorithms.every((algorithm) => readable.some((key) => key.algorithm === algorithm))
    if (!isComplete) throw new Error('An algorithm has no signing key that app.secret decrypts.')
    this.#keys = readable
    this.#arrange(now)
    this.#announce()
  }

  /**
   * Decrypts a key; null if no secret can. A known key is not decrypted again, because another process may have encrypted it
   * with a newer secret.
   */
  #opened(stored: StoredKey): RingKey | null {
    const { sealed: _, ...times } = stored
    const known = this.#keys.find((key) => key.kid === stored.kid)
    if (known) return { ...times, jwk: known.jwk, published: known.published }
    const jwk = this.#seal.open(stored)
    return jwk && { ...times, jwk, published: publicPart(jwk) }
  }

  #arrange(now: number): void {
    const config = this.#parts.config.current()
    this.#set = arrangeKeys(this.#keys, rotationOf(config), now)
    this.#setFor = config
    this.#setUntil = Math.min(...this.#keys.map((key) => key.signsFrom).filter((at) => at > now), Number.MAX_VALUE)
  }

  #announce(): void {
    const set = this.current()
    if (this.#announced !== '' && this.#announced !== set.version) for (const listener of this.#listeners) listener(set)
    this.#announced = set.version
  }

  async #reseal(stored: readonly StoredKey[]): Promise<void> {
    for (const key of stored) {
      const jwk = this.#seal.isCurrent(key) ? null : this.#seal.open(key)
      if (jwk) await resealKey(this.#parts.database, key, this.#seal.seal(jwk))
    }
  }
}

/** Orders the keys of each algorithm: the current one, retired ones (latest first), future ones. */
function arrangeKeys(keys: readonly RingKey[], rotation: Rotation, now: number): KeySet {
  const lines = algorithms.map((algorithm) => {
    const line = keysInOrder(keys, algorithm)
    const signer = signingKeyOf(line, now)
    if (!signer) throw new Error(`There is no ${algorithm} key.`)
    const at = line.indexOf(signer)
    return [signer, ...line.slice(0, at).reverse(), ...line.slice(at + 1)] as const
  })
  const [rs256, es256, eddsa] = lines
  if (!rs256 || !es256 || !eddsa) throw new Error('An algorithm is missing.')
  const all = lines.flat()
  return deepFreeze({
    version: all.map(({ kid }) => kid).join(),
    signing: { RS256: rs256[0].jwk, ES256: es256[0].jwk, EdDSA: eddsa[0].jwk },
    private: all.map(({ jwk }) => jwk),
    public: { keys: all.map(({ published }) => published) },
    maxAge: cacheSeconds(rotation),
  })
}

/**
 * The error for a key in use that no secret decrypts. svc does not replace the key, because this process may have the wrong
 * secret, and the key may still work in the others.
 */
const unreadable = ({ kid, algorithm }: KeyTimes): ConfigError =>
  new ConfigError([
    {
      file: 'table oauth_keys',
      line: 0,
      key: 'app.secret',
      message:
        `no secret decrypts the ${algorithm} signing key ${kid}. Add the secret that encrypted it to app.secret. If ` +
        `that secret is lost, create new keys with svc key:rotate --withdraw, which invalidates all signed tokens`,
    },
  ])
