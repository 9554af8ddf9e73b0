import type { FastifyInstance } from 'fastify'
import type Provider from 'oidc-provider'
import type { Config } from '../../../config/schema.ts'
import type { StepUpFactor } from '../../../feature.ts'
import type { User } from '../../../users/user.ts'
import { type AccessTokenClaims, AccessTokenVerifier } from '../access-token.ts'
import { bearerOfLive } from '../alive.ts'
import type { Factors } from '../authentication-context.ts'
import { findConsent } from '../interaction/store.ts'
import type { PrivateJwk } from '../keys/jwk.ts'
import { KeyRing, type KeySet, resealAfter } from '../keys/key-ring.ts'
import { CarriedRecords } from './carried.ts'
import { ClientLimits } from './client-limits.ts'
import { Registry } from './clients.ts'
import { clientFetch } from './outbound.ts'
import type { SendLogout } from './patches/logout.ts'
import { PendingLimits } from './pending-limits.ts'
import { RecordSeal } from './record-seal.ts'
import { RedisRecords } from './redis-records.ts'
import { type Logout, logoutWork, SignOut } from './session-end.ts'
import { RecordStore } from './store.ts'

/** What an authorization asks of a person, as the library keeps it. */
export type InteractionDetails = Awaited<ReturnType<Provider['interactionDetails']>> & {
  /** The browser session (public id) in which it began; null if nobody was signed in. */
  beganIn?: string | null
}

/** The library with svc's configuration of one moment, and the clients of it. */
export interface Protocol {
  provider: Provider
  /** Answers a request that is handed over. */
  answer: ReturnType<Provider['callback']>
  registry: Registry
  sendLogout: SendLogout
}

/** An access token that svc signed and that is alive, and its user (null for a machine's). */
export interface LiveToken {
  claims: AccessTokenClaims
  user: User | null
}

/**
 * Holds the provider of the configuration and keys in force. Another configuration or key makes a new one, which takes
 * the next request; those under way end with the one they began with, and both work on the same rows.
 */
export class OAuthServer {
  /** Ends what follows a browser's session. */
  readonly signOut: SignOut
  readonly #app: FastifyInstance
  readonly #verifier: AccessTokenVerifier
  /** Opens the payloads of stored records. */
  readonly seal: RecordSeal
  readonly #carried: CarriedRecords
  readonly #store: RecordStore
  readonly #quick: RedisRecords | null
  readonly #limits: ClientLimits
  readonly #pending: PendingLimits
  readonly #openedAt: number
  #opening: Promise<void> | undefined
  #keys: KeyRing | undefined
  #registry: { config: Config; clients: Registry } | undefined
  #current: { protocol: Promise<Protocol>; config: Config; version: string } | undefined

  constructor(app: FastifyInstance) {
    this.#app = app
    this.#store = new RecordStore(app.database)
    this.#quick = app.redis ? new RedisRecords(app.redis) : null
    this.#openedAt = app.clock.now()
    this.seal = new RecordSeal(app.config.current().app.secret)
    this.#carried = new CarriedRecords(app.config.current().app.secret, app.cookies, app.clock)
    this.signOut = new SignOut(app, this.seal)
    this.#limits = new ClientLimits(app.counters, app.config, app.clock)
    this.#pending = new PendingLimits(app.counters, app.config, app.clock)
    this.#verifier = new AccessTokenVerifier(app.config.current().app.url, {
      current: () => this.#keySet(),
      knows: async (kid) => (await this.#keys?.knows(kid)) ?? false,
    })
    app.addHook('onClose', async () => this.#keys?.close())
    app.outbox.handle<Logout>(logoutWork, async (logout) => (await this.current()).sendLogout(logout))
  }

  /** Loads the signing keys, once; the server does so before it listens. */
  open(): Promise<void> {
    this.#opening ??= this.#open().catch((error) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async #open(): Promise<void> {
    const { database, clock, config, log, metrics } = this.#app
    this.#keys = await KeyRing.open({ database, clock, config, log, metrics })
  }

  #keySet(): KeySet {
    if (!this.#keys) throw new Error('The signing keys are not loaded yet.')
    return this.#keys.current()
  }

  /** The key that signs access tokens now. */
  async signingKey(): Promise<PrivateJwk> {
    await this.open()
    return this.#keySet().signing[this.#app.config.current().oauth.access_token_alg]
  }

  /** How long ago, in milliseconds, the key of each algorithm began to sign. */
  async keyAges(): Promise<ReadonlyMap<string, number>> {
    await this.open()
    return this.#keys?.signingAges() ?? new Map()
  }

  /** The provider and registry in force now. */
  async current(): Promise<Protocol> {
    await this.open()
    const config = this.#app.config.current()
    const { version } = this.#keySet()
    if (this.#current?.config !== config || this.#current.version !== version) {
      this.#current = { protocol: this.#build(config), config, version }
    }
    return this.#current.protocol
  }

  /** The clients of the configuration in force. */
  registry(): Registry {
    const config = this.#app.config.current()
    if (this.#registry?.config !== config) this.#registry = { config, clients: new Registry(config) }
    return this.#registry.clients
  }

  /** The claims of an access token that svc signed and that is alive, with its user; null for any other. */
  async findLive(token: string): Promise<LiveToken | null> {
    await this.open()
    const claims = await this.#verifier.verify(token, this.#app.clock.now())
    if (!claims) return null
    const registry = this.registry()
    const bearer = await bearerOfLive(this.#app, (id) => registry.has(id), claims)
    return bearer && { claims, user: bearer.user }
  }

  /** The second factors that a user has enrolled, and that the configuration allows. */
  async factorsOf(user: User): Promise<Factors> {
    const others: StepUpFactor[] = []
    for (const { stepUp } of this.#app.features)
      if (stepUp && (await stepUp.isEnrolled(this.#app, user.id))) others.push(stepUp)
    return { code: this.#app.secondFactor.isAskedOf(user), phishingResistant: others }
  }

  /** Deletes records that ended, in batches. */
  async prune(): Promise<void> {
    const batch = 500
    const now = this.#app.clock.now()
    // Between two of them other requests have their turn.
    while ((await this.#store.prune(now, batch)) >= batch) await new Promise((resolve) => setImmediate(resolve))
  }

  /**
   * Encrypts the payloads that a version without encryption stored. Once the process has run for an hour, it also
   * encrypts again what an older secret encrypted, so that the older secret can be removed from `app.secret`.
   */
  async sealRecords(): Promise<void> {
    const prefix = this.#app.clock.now() - this.#openedAt >= resealAfter ? this.seal.prefix : null
    const batch = 500
    let after = ''
    for (;;) {
      const records = await this.#store.listUnsealed(prefix, after, batch)
      for (const record of records) {
        const payload = this.seal.open(record)
        if (payload) await this.#store.replacePayload(record, this.seal.seal(record.id, payload))
      }
      if (records.length < batch) return
      after = records.at(-1)?.id ?? ''
    }
  }

  async #build(config: Config): Promise<Protocol> {
    // Before anything is waited for: the clients of this configuration, and not of one that comes meanwhile.
    const registry = this.registry()
    // Loaded with the first protocol request: a server that only checks tokens never has the library in memory.
    const { buildProvider } = await import('./library.ts')
    const { database, lookups, clock } = this.#app
    const { provider, sendLogout } = buildProvider({
      config,
      cookies: this.#app.cookies,
      registry,
      lookups,
      clock,
      store: this.#store,
      seal: this.seal,
      carried: this.#carried,
      pending: this.#pending,
      quick: this.#quick,
      database,
      signOut: this.signOut,
      limits: this.#limits,
      keys: this.#keySet().private,
      fetch: clientFetch(config, this.#app.tracing, this.#app.log),
      keysMaxAge: this.#keySet().maxAge,
      counters: this.#app.counters,
      app: this.#app,
      metrics: this.#app.metrics,
      findConsent: (userId, clientId) => findConsent(database, userId, clientId),
      factorsOf: (user) => this.factorsOf(user),
      findLive: async (token) => (await this.findLive(token))?.claims ?? null,
    })
    // Made once: each making puts all of the library's layers together anew.
    return { provider, answer: provider.callback(), registry, sendLogout }
  }
}
