import type { FastifyInstance } from 'fastify'
import type { JWTPayload } from 'jose'
import type Provider from 'oidc-provider'
import { mustVerifyAddress } from '../../../auth/access/verified-address.ts'
import type { StepUpFactor } from '../../../contract/feature.ts'
import type { User } from '../../../identity/user.ts'
import type { Config } from '../../../platform/config/schema.ts'
import { inBatches } from '../../../platform/database/batches.ts'
import { type AccessTokenClaims, AccessTokenVerifier } from '../access-token.ts'
import { type FindOptions, findLiveToken, type LiveToken } from '../alive.ts'
import type { Factors } from '../authentication-context.ts'
import { ClientDocuments } from '../client-documents/client-documents.ts'
import { ClientLimits } from '../clients/client-limits.ts'
import { Registry } from '../clients/clients.ts'
import { SecretUses } from '../clients/secret-uses.ts'
import { mayActorsAct } from '../delegation/delegations.ts'
import type { Algorithm, PrivateJwk } from '../keys/jwk.ts'
import { KeyRing, type KeySet, reencryptAfter } from '../keys/key-ring.ts'
import { signJwt } from '../keys/sign.ts'
import { findConsent } from '../records/interaction-store.ts'
import { RecordSeal } from '../records/record-seal.ts'
import { RedisRecords } from '../records/redis-records.ts'
import { RecordStore } from '../records/store.ts'
import { StatusLists } from '../status-lists/status-lists.ts'
import { Workloads } from '../workloads/workloads.ts'
import { Introspection } from './introspection/answers.ts'
import { clientFetch } from './outbound.ts'
import type { SendLogout } from './patches/logout.ts'
import { type Logout, logoutWork, SignOut } from './session-end.ts'
import type { ClientCredentials } from './shortcuts/client-credentials.ts'
import { JointWrites } from './shortcuts/joint-writes.ts'
import { takes } from './shortcuts/shortcuts.ts'
import type { UserInfo } from './shortcuts/user-info.ts'
import type { UserTokens } from './shortcuts/user-tokens.ts'

/** Interaction, as the library stores it. */
export type InteractionDetails = Awaited<ReturnType<Provider['interactionDetails']>> & {
  /** Browser session (public id) in which it began; null without a signed-in user. */
  beganIn?: string | null
}

/** The library with one configuration, and its clients. */
export interface Protocol {
  provider: Provider
  /** Handles a request. */
  answer: ReturnType<Provider['callback']>
  registry: Registry
  sendLogout: SendLogout
  introspection: Introspection
  clientCredentials: ClientCredentials
  userInfo: UserInfo
  userTokens: UserTokens
}

/** The token, if a condition that takes a query holds. */
async function onlyIf(condition: Promise<boolean>, live: Promise<LiveToken | null>): Promise<LiveToken | null> {
  const [isMet, found] = await Promise.all([condition, live])
  return isMet ? found : null
}

/** How long a process trusts that all records have the current encryption, in milliseconds. */
const sealedFor = 86_400_000

/**
 * Owns the provider for the active configuration and keys. A change of either creates a new one for the next request.
 * Requests in progress finish with the old one; both use the same rows.
 */
export class OAuthServer {
  /** Ends the OAuth sessions of a browser session. */
  readonly signOut: SignOut
  readonly statusLists: StatusLists
  readonly #app: FastifyInstance
  readonly #verifier: AccessTokenVerifier
  /** Decrypts the payloads of stored records. */
  readonly seal: RecordSeal
  readonly #store: RecordStore
  readonly #redis: RedisRecords | null
  /** Limits of failed client authentications. */
  readonly limits: ClientLimits
  readonly secretUses: SecretUses
  /** Clients that tokens of their platforms authenticate. */
  readonly workloads: Workloads
  /** Clients that nobody registered. */
  readonly documents: ClientDocuments
  #resealAt: number
  #opening: Promise<void> | undefined
  #keys: KeyRing | undefined
  #registry: { config: Config; clients: Registry } | undefined
  #current: { protocol: Promise<Protocol>; config: Config; version: string } | undefined

  constructor(app: FastifyInstance) {
    this.#app = app
    const joint = app.database.pg && takes('joint-writes') ? new JointWrites(app.database) : null
    this.#store = new RecordStore(app.database, joint)
    this.#redis = app.redis ? new RedisRecords(app.redis) : null
    this.#resealAt = app.clock.now() + reencryptAfter
    this.seal = new RecordSeal(app.config.current().app.secret)
    this.signOut = new SignOut(app, this.seal)
    this.limits = new ClientLimits(app.counters, app.config, app.clock)
    this.secretUses = new SecretUses(app)
    this.workloads = new Workloads(app)
    this.documents = new ClientDocuments(app)
    this.statusLists = new StatusLists({
      app,
      seal: this.seal,
      activeOf: (claims) => this.#activeOf(claims),
      sign: (claims, algorithm, typ) => this.sign(claims, algorithm, typ),
    })
    this.#verifier = new AccessTokenVerifier(app.config.current().app.url, {
      current: () => this.#keySet(),
      knows: async (kid) => (await this.#keys?.knows(kid)) ?? false,
    })
    app.addHook('onClose', async () => this.#keys?.close())
    // Apart from mail, because the server of a client can hang.
    app.outbox.handleSeparately<Logout>(logoutWork, async (logout) => (await this.current()).sendLogout(logout))
  }

  /** Loads the signing keys once, before the server listens. */
  open(): Promise<void> {
    this.#opening ??= this.#open().catch((error) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async #open(): Promise<void> {
    const { database, clock, config, log, subscriber, metrics } = this.#app
    this.#keys = await KeyRing.open({ database, clock, config, log, subscriber, metrics })
  }

  #keySet(): KeySet {
    if (!this.#keys) throw new Error('The signing keys are not loaded yet.')
    return this.#keys.current()
  }

  /** Key that currently signs with an algorithm, by default that of access tokens without an API. */
  async signingKey(algorithm?: Algorithm): Promise<PrivateJwk> {
    await this.open()
    return this.#keySet().signing[algorithm ?? this.#app.config.current().oauth.access_token_alg]
  }

  /** Signs a JWT of svc: an access token (RFC 9068), another type, or without a type an ID token. */
  async sign(claims: JWTPayload, algorithm: Algorithm, typ: string | null = 'at+jwt'): Promise<string> {
    const key = await this.signingKey(algorithm)
    return signJwt(key, typ, { ...claims, iss: this.#app.config.current().app.url })
  }

  /** Age in milliseconds of each algorithm's signing key. */
  async keyAges(): Promise<ReadonlyMap<string, number>> {
    await this.open()
    return this.#keys?.signingAges() ?? new Map()
  }

  /** Active provider and registry. */
  async current(): Promise<Protocol> {
    await this.open()
    const config = this.#app.config.current()
    const { version } = this.#keySet()
    if (this.#current?.config !== config || this.#current.version !== version) {
      this.#current = { protocol: this.#build(config), config, version }
    }
    return this.#current.protocol
  }

  /** Loads the library before the first request if there are clients. Without clients, a server rarely needs it. */
  async prepare(): Promise<void> {
    const { clients, oauth } = this.#app.config.current()
    if (clients.length === 0 && !oauth.client_id_metadata.enabled) return
    await this.current().catch((error) => this.#app.log.error({ err: error }, 'the OAuth server is not available'))
  }

  /** Clients of the active configuration. */
  registry(): Registry {
    const config = this.#app.config.current()
    if (this.#registry?.config !== config) this.#registry = { config, clients: new Registry(config) }
    return this.#registry.clients
  }

  /** Claims and user of a valid access token of svc; null for any other. */
  async findLive(token: string, options: FindOptions = {}): Promise<LiveToken | null> {
    const claims = await this.#claimsOf(token)
    return claims && this.#liveOf(claims, options)
  }

  /** Claims of an unexpired access token of svc, from its signature alone. */
  async #claimsOf(token: string): Promise<AccessTokenClaims | null> {
    if (!this.#keys) await this.open()
    return this.#verifier.verify(token, this.#app.clock.now())
  }

  /** The token of these claims; null if it ended. */
  #liveOf(claims: AccessTokenClaims, options: FindOptions = {}): Promise<LiveToken | null> | null {
    const registry = this.registry()
    const { aud, client_id } = claims
    if (!registry.hasAudience(aud)) return null
    const live = findLiveToken(this.#app, (id) => registry.has(id), claims, options)
    if (registry.isDocument(client_id)) return onlyIf(this.#accepts(client_id), live)
    return claims.act === undefined ? live : onlyIf(mayActorsAct(this.#app, claims), live)
  }

  /** Tests whether svc accepts tokens of a client. */
  async #accepts(clientId: string): Promise<boolean> {
    const registry = this.registry()
    if (!registry.has(clientId)) return false
    return !registry.isDocument(clientId) || !(await this.documents.isBlocked(clientId))
  }

  /** The token of these claims, if APIs may accept it. svc's own API answers 403 until the user verifies their address. */
  async #activeOf(claims: AccessTokenClaims): Promise<LiveToken | null> {
    const live = await this.#liveOf(claims)
    return mustVerifyAddress(this.#app.config.current(), live?.user) ? null : live
  }

  /** Second factors that the user has enrolled and the configuration allows. */
  async factorsOf(user: User): Promise<Factors> {
    const others: StepUpFactor[] = []
    for (const { stepUp } of this.#app.features)
      if (stepUp && (await stepUp.isEnrolled(this.#app, user.id))) others.push(stepUp)
    return { code: this.#app.secondFactor.isAskedOf(user), phishingResistant: others }
  }

  /** Deletes expired records in batches. */
  async prune(): Promise<void> {
    await this.#store.prune(this.#app.clock.now())
  }

  /**
   * Once the process has run for an hour, encrypts what an older secret encrypted again, so that the older secret can be
   * removed from `app.secret`. It reads all records: when it finds none, it waits a day.
   */
  async resealRecords(): Promise<void> {
    const now = this.#app.clock.now()
    if (now < this.#resealAt) return
    const found = await this.#sealRecords()
    if (found === 0) this.#resealAt = now + sealedFor
  }

  /** Returns the number of records that it encrypted. */
  async #sealRecords(): Promise<number> {
    let after = ''
    let found = 0
    await inBatches(this.#app.database, async (batch) => {
      const records = await this.#store.listUnsealed(this.seal.prefix, after, batch)
      for (const { id, payload: stored } of records) {
        if (stored === null) continue
        found++
        const record = { id, payload: stored }
        const payload = this.seal.open(record)
        if (payload) await this.#store.replacePayload(record, this.seal.seal(id, payload))
      }
      after = records.at(-1)?.id ?? after
      return records.length
    })
    return found
  }

  async #build(config: Config): Promise<Protocol> {
    // Read before the first `await`, so that a concurrent reload does not mix two configurations.
    const registry = this.registry()
    // Loaded with the first protocol request, so that a server that only checks tokens does not need the memory.
    const { buildProvider } = await import('./library.ts')
    const { database, lookups, clock } = this.#app
    const introspectionOf = (provider: Provider) =>
      new Introspection({
        app: this.#app,
        registry,
        provider,
        claimsOf: (token) => this.#claimsOf(token),
        activeOf: (claims) => this.#activeOf(claims),
        accepts: (clientId) => this.#accepts(clientId),
      })
    const { provider, ...own } = buildProvider({
      introspectionOf,
      config,
      cookies: this.#app.cookies,
      registry,
      lookups,
      clock,
      store: this.#store,
      seal: this.seal,
      redis: this.#redis,
      database,
      signOut: this.signOut,
      limits: this.limits,
      secretUses: this.secretUses,
      keys: this.#keySet().private,
      statusLists: this.statusLists,
      documents: this.documents,
      fetch: clientFetch(config, this.#app.tracing, this.#app.log),
      keysMaxAge: this.#keySet().maxAge,
      counters: this.#app.counters,
      app: this.#app,
      metrics: this.#app.metrics,
      findConsent: (userId, clientId) => findConsent(database, userId, clientId),
      factorsOf: (user) => this.factorsOf(user),
      findLive: (token) => this.findLive(token),
      findLiveWithGrant: (token) => this.findLive(token, { withGrant: true }),
      sign: (claims, algorithm, typ) => this.sign(claims, algorithm, typ),
    })
    // Created once, because each call builds all of the library's middleware again.
    return { provider, answer: provider.callback(), registry, ...own, introspection: introspectionOf(provider) }
  }
}
