import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../../../clock.ts'
import { ConfigError } from '../../../config/config-error.ts'
import { type CurrentConfig, deepFreeze } from '../../../config/current.ts'
import type { Config } from '../../../config/schema.ts'
import type { Database } from '../../../database/database.ts'
import type { EventQueue } from '../../../jobs/event-queue.ts'
import type { Metrics } from '../../../observability/metrics/metrics.ts'
import { systemOrigin } from '../../../users/events.ts'
import { type Algorithm, algorithms, type PrivateJwk, type PublicJwk, publicPart } from './jwk.ts'
import {
  cacheSeconds,
  dueKeys,
  isOver,
  type KeyTimes,
  lineOf,
  type Rotation,
  refreshEvery,
  rotationOf,
  signerOf,
} from './rotation.ts'
import { KeySeal } from './seal.ts'
import { deleteRetired, listKeys, resealKey, type StoredKey } from './store.ts'
import { makeKeys } from './succession.ts'

/** The keys at one moment, frozen. */
export interface KeySet {
  /** Another one whenever a key is added, removed, or begins to sign. */
  version: string
  /** The key that signs, of each algorithm. */
  signing: Readonly<Record<Algorithm, PrivateJwk>>
  /** All keys; of each algorithm the one that signs is first and those that will sign are last. */
  private: readonly PrivateJwk[]
  /** The key set to publish (RFC 7517). */
  public: { keys: PublicJwk[] }
  /** For how many seconds the published set may be cached. */
  maxAge: number
}

interface KeyRingParts {
  database: Database
  clock: Clock
  config: CurrentConfig
  log: FastifyBaseLogger
  webhooks: EventQueue
  metrics?: Metrics | null
}

/** A key of the ring: its times, and the key itself. */
interface RingKey extends KeyTimes {
  jwk: PrivateJwk
  published: PublicJwk
}

/** How often at most an unknown key is looked for in the database, in milliseconds. */
const pollInterval = 1_000

/** How long a process runs before it encrypts again under the first secret, in milliseconds: a deployment that is rolled back by then still reads everything. */
export const resealAfter = 3_600_000

/** The keys that sign tokens: created, rotated and removed automatically, the same in every process. */
export class KeyRing {
  readonly #parts: KeyRingParts
  readonly #seal: KeySeal
  readonly #openedAt: number
  readonly #listeners = new Set<(set: KeySet) => void>()
  readonly #reported = new Set<string>()
  #keys: readonly RingKey[] = []
  #set: KeySet | undefined
  /** When the set must be arranged anew: the next key's beginning. */
  #setUntil = Number.POSITIVE_INFINITY
  /** The configuration that the set was arranged for. */
  #setFor: Config | undefined
  #announced = ''
  #looking: Promise<void> | undefined
  #lookedAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined

  private constructor(parts: KeyRingParts) {
    this.#parts = parts
    this.#seal = new KeySeal(parts.config.current().app.secret)
    this.#openedAt = parts.clock.now()
  }

  /** Loads the keys, makes those that are missing, and keeps them up to date; throws ConfigError when no secret decrypts a key in use. */
  static async open(parts: KeyRingParts): Promise<KeyRing> {
    const ring = new KeyRing(parts)
    await ring.refresh()
    ring.#timer = setInterval(() => {
      ring.refresh().catch((error) => parts.log.warn({ err: error }, 'cannot read the signing keys'))
    }, refreshEvery).unref()
    return ring
  }

  /** The keys as of now; a key whose time has come signs, however long ago the database was read. */
  current(): KeySet {
    const now = this.#parts.clock.now()
    const isStale = now >= this.#setUntil || this.#setFor !== this.#parts.config.current()
    if (!this.#set || isStale) this.#arrange(now)
    if (!this.#set) throw new Error('The key ring is empty.')
    return this.#set
  }

  /** How long ago, in milliseconds, the key of each algorithm began to sign. */
  signingAges(): Map<Algorithm, number> {
    const now = this.#parts.clock.now()
    const ages = algorithms.map((algorithm): [Algorithm, number] => {
      const signer = signerOf(lineOf(this.#keys, algorithm), now)
      return [algorithm, now - (signer?.signsFrom ?? now)]
    })
    return new Map(ages)
  }

  /** Calls back, within seconds, whenever the set has another version. */
  onChange(listener: (set: KeySet) => void): void {
    this.#listeners.add(listener)
  }

  /** Reads the keys again, and makes, encrypts anew and removes what is due. */
  refresh(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  /** Whether there is a key of this id; an unknown one is looked for in the database, once a second at most. */
  async knows(kid: string): Promise<boolean> {
    const now = this.#parts.clock.now()
    if (!this.#has(kid) && now - this.#lookedAt >= pollInterval) await this.refresh()
    return this.#has(kid)
  }

  /** Stops looking, and waits for what is under way. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking?.catch(() => undefined)
  }

  #has(kid: string): boolean {
    return this.#keys.some((key) => key.kid === kid)
  }

  async #look(): Promise<void> {
    const { database, clock, config, log, webhooks, metrics = null } = this.#parts
    const now = clock.now()
    this.#lookedAt = now
    const rotation = rotationOf(config.current())
    let stored = await listKeys(database)
    if (dueKeys(stored, rotation, now).length > 0) {
      const origin = { ...systemOrigin({ now, webhooks }), log, metrics }
      await makeKeys({ database, seal: this.#seal, origin }, (keys) => dueKeys(keys, rotation, now))
      stored = await listKeys(database)
    }
    if (stored.some((key) => isOver(key, rotation, now))) await deleteRetired(database, now - rotation.keep)
    this.#adopt(
      stored.filter((key) => !isOver(key, rotation, now)),
      now,
    )
    if (now - this.#openedAt >= resealAfter) await this.#reseal(stored)
  }

  /** Takes the keys over; while the process runs, keys that it cannot use leave it with those it has. */
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

  /** A key that is known already is not decrypted again: another process may have encrypted it under a newer secret. */
  #opened(stored: StoredKey): RingKey | null {
    const { sealed: _, ...times } = stored
    const known = this.#keys.find((key) => key.kid === stored.kid)
    if (known) return { ...times, jwk: known.jwk, published: known.published }
    const jwk = this.#seal.open(stored)
    return jwk && { ...times, jwk, published: publicPart(jwk) }
  }

  #arrange(now: number): void {
    const config = this.#parts.config.current()
    this.#set = arranged(this.#keys, rotationOf(config), now)
    this.#setFor = config
    this.#setUntil = Math.min(...this.#keys.map((key) => key.signsFrom).filter((at) => at > now), Number.MAX_VALUE)
  }

  #announce(): void {
    const set = this.current()
    if (this.#announced !== '' && this.#announced !== set.version) for (const tell of this.#listeners) tell(set)
    this.#announced = set.version
  }

  async #reseal(stored: readonly StoredKey[]): Promise<void> {
    for (const key of stored) {
      const jwk = this.#seal.isFresh(key) ? null : this.#seal.open(key)
      if (jwk) await resealKey(this.#parts.database, key, this.#seal.seal(jwk))
    }
  }
}

/** The keys of each algorithm: what signs, what signed (the latest first), what will sign. */
function arranged(keys: readonly RingKey[], rotation: Rotation, now: number): KeySet {
  const lines = algorithms.map((algorithm) => {
    const line = lineOf(keys, algorithm)
    const signer = signerOf(line, now)
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

/** Not replaced by itself: the process with the wrong secret may be this one, and the others' keys would be lost to it. */
const unreadable = ({ kid, algorithm }: KeyTimes): ConfigError =>
  new ConfigError([
    {
      file: 'table oauth_keys',
      line: 0,
      key: 'app.secret',
      message:
        `no secret decrypts the ${algorithm} signing key ${kid}. Add the secret it was made under to the list; or, if ` +
        `that is lost, create new keys with svc key:rotate --withdraw, which invalidates every token signed so far`,
    },
  ])
