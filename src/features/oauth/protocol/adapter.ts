import Provider, { type Adapter, type AdapterPayload, errors } from 'oidc-provider'
import type { Lookups, OauthRecordRow } from '../../../auth/access/lookups/lookups.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Config } from '../../../platform/config/schema.ts'
import type { Registry } from '../clients/clients.ts'
import type { RecordSeal } from '../records/record-seal.ts'
import type { NewRecord } from '../records/records.ts'
import { type RedisRecords, shortLived } from '../records/redis-records.ts'
import { type RecordStore, recordId } from '../records/store.ts'
import { type CookieRecords, isCookieRecord } from './cookie-records.ts'
import { contentOf, isNewSession, type LastingPayload, ownerOf } from './lasting.ts'
import type { PendingLimits } from './pending-limits.ts'
import { ofGrant, recordOf } from './record-of.ts'
import { noteCause } from './refusal-causes.ts'
import { deferGrant, deferUse, takeDeferredGrant, takeDeferredUse } from './shortcuts/deferred-writes.ts'
import { knownExpiry, lastsUntil, noteExpiry } from './shortcuts/known-expiries.ts'
import { hasLostRace } from './shortcuts/lost-races.ts'

/** Dependencies that the adapters of all models share. */
export interface AdapterParts {
  store: RecordStore
  seal: RecordSeal
  cookieRecords: CookieRecords
  pending: PendingLimits
  lookups: Lookups
  clock: Clock
  registry: Registry
  /** Client that nobody registered, by its metadata document. */
  findDocumentClient: (id: string) => Promise<AdapterPayload | undefined>
  config: Config
  /** Storage of short-lived records instead of the database; null without Redis. */
  redis: RedisRecords | null
}

/** Kinds that can be used once. Of two concurrent uses, one must fail. */
const usedOnce = new Set(['AuthorizationCode', 'DeviceCode', 'PushedAuthorizationRequest'])

/**
 * How long svc stores a pushed request after it expires, in milliseconds: until the user has signed in and consented.
 * Without the row, svc could not tell whether another interaction was granted.
 */
const pushedRequestKeptFor = 2 * 3_600_000

/** Kinds that svc stores for as long as a record refers to them. The library alone would use a fixed lifetime. */
const lasting = new Set(['Session', 'Grant'])

/** Lifetime of a session or grant without tokens, in milliseconds: time to sign in and to consent. */
const unusedFor = 3_600_000

/** svc does not write a session to extend it by less than this, in milliseconds. */
const endTolerance = 3_600_000

/** Stores the library's records as rows, with hashed identifiers, encrypted payloads and svc's clock. */
export class RecordAdapter implements Adapter {
  readonly #kind: string
  readonly #parts: AdapterParts
  readonly #redis: RedisRecords | null

  constructor(kind: string, parts: AdapterParts) {
    this.#kind = kind
    this.#parts = parts
    this.#redis = shortLived.has(kind) ? parts.redis : null
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const { store, clock, pending, seal } = this.#parts
    const isCode = this.#kind === 'AuthorizationCode' && !this.#redis
    // The grant first, because other records of the request may refer to it.
    const grant = takeDeferredGrant()
    if (grant && !isCode && !(await store.insertOf(grant.owner, grant.record))) throw sessionEnded()
    if (this.#parts.cookieRecords.tryPut(this.#kind, id, payload)) return
    await pending.count(this.#kind, payload)
    if (lasting.has(this.#kind)) return this.#saveLasting(id, payload)
    const keptFor = this.#kind === 'PushedAuthorizationRequest' ? pushedRequestKeptFor : 0
    const end = expiresIn ? clock.now() + expiresIn * 1000 + keptFor : null
    const record = recordOf({ kind: this.#kind, id }, payload, end, seal)
    // Two concurrent uses of a refresh token within the grace have the same successor. The first one inserts it.
    if (this.#kind === 'RefreshToken') await this.#saveRefreshToken(record, payload)
    else if (grant && isCode) {
      if (!(await store.insertGranted(grant.owner, grant.record, record))) throw sessionEnded()
    } else if (this.#redis) await this.#redis.put(record, clock.now())
    else await store.put(record)
    if (payload.grantId && ofGrant.has(this.#kind)) await this.#extend(payload, payload.grantId, end ?? clock.now())
  }

  /**
   * Saves a refresh token, and in the same statement marks the code or its predecessor as used, so that a failure between both
   * does not use up what the client has.
   */
  async #saveRefreshToken(record: NewRecord, { clientId, grantId = '' }: AdapterPayload): Promise<void> {
    const { store, clock, registry } = this.#parts
    const now = clock.now()
    const used = takeDeferredUse()
    if (!used) return void (await store.insert(record))
    if (used.kind === 'RefreshToken') return store.rotate(used.id, now, record)
    const grant = {
      id: recordId('Grant', grantId),
      until: (record.expiresAt ?? now) + registry.maxAccessTtl(clientId),
    }
    const saved = await store.exchange(used.id, now, record, grant)
    if (!saved) throw usedAlready()
    if (saved.isExtended) noteExpiry(grant.id, grant.until)
  }

  /** Saves a session or grant. One that was read from a row updates that row, and fails if the row was deleted meanwhile. */
  async #saveLasting(id: string, saved: LastingPayload): Promise<void> {
    const { storedId, storedPayload, storedContent: _, ...payload } = saved
    const { store, clock, seal } = this.#parts
    const isSession = this.#kind === 'Session'
    if (isSession && this.#isStored(saved)) return
    const key = isSession ? recordId('uid', String(payload.uid)) : recordId('Grant', id)
    const end = Math.max(clock.now() + this.#initialLifetime(payload), knownExpiry(key))
    const record = recordOf({ kind: this.#kind, id }, { ...payload, sessionId: undefined }, end, seal)
    const { sessionId: owner = null } = payload
    // A session with a user is bound to a browser session of that user, and ends with it.
    const isOwned = record.userId !== null && (isSession || (owner !== null && !storedId))
    const follows = isSession && isOwned ? owner : null
    const isHeld = !isSession && !storedId && isOwned && owner !== null && deferGrant({ owner: ownerOf(owner), record })
    const isSaved = isHeld || (await write({ ...record, sessionId: follows }))
    if (isSaved) return noteExpiry(key, end)
    const merged = isSession ? await this.#mergeSession(saved) : null
    if (!merged) throw sessionEnded()
    return this.#saveLasting(id, merged)

    async function write(row: NewRecord): Promise<boolean> {
      if (isOwned && owner === null) return false
      const read = isSession ? (storedPayload ?? '') : null
      if (storedId) return store.replace(recordId(row.kind, storedId), read, row)
      return isOwned && owner !== null ? store.insertOf(ownerOf(owner), row) : store.insert(row)
    }
  }

  /** Tests whether the row of a session has its content and lasts long enough, so that it need not be written. */
  #isStored(session: LastingPayload): boolean {
    // A request for individual claims makes its grant the latest one, which the next such request reads.
    if (session.storedContent === undefined || Provider.ctx?.oidc.params?.claims) return false
    const end = this.#parts.clock.now() + this.#initialLifetime(session) - endTolerance
    return lastsUntil(recordId('uid', String(session.uid)), end) && contentOf(session) === session.storedContent
  }

  /**
   * Merges a session with the changes of a concurrent request of the same browser, because both may authorize a client.
   * Null if the session has ended, or if it did not change and the save failed for another reason.
   */
  async #mergeSession(saved: LastingPayload): Promise<LastingPayload | null> {
    const { store, seal } = this.#parts
    const row = await store.findSession(recordId('uid', String(saved.uid)))
    const current = row && seal.open<LastingPayload>(row)
    if (!row || !current || row.payload === saved.storedPayload) return null
    if (current.accountId !== undefined && current.accountId !== saved.accountId) return null
    return {
      ...saved,
      storedId: current.jti,
      storedPayload: row.payload,
      authorizations: { ...current.authorizations, ...saved.authorizations },
    }
  }

  /** Initial lifetime of a session or grant, in milliseconds. Tokens extend it. */
  #initialLifetime({ accountId, clientId }: AdapterPayload): number {
    const { oauth, session } = this.#parts.config
    if (this.#kind === 'Session') return accountId ? session.absolute_lifetime : unusedFor
    return (
      unusedFor +
      Math.max(oauth.authorization_code_ttl, oauth.device_code_ttl) +
      this.#parts.registry.maxAccessTtl(clientId)
    )
  }

  /** Extends the grant and the session to the end of everything the token can be exchanged for. */
  async #extend(
    { clientId, expiresWithSession, sessionUid }: AdapterPayload,
    grantId: string,
    end: number,
  ): Promise<void> {
    const uidHash = expiresWithSession && sessionUid ? recordId('uid', sessionUid) : null
    const until = end + this.#parts.registry.maxAccessTtl(clientId)
    // Most rows already last long enough, which saves statements.
    const grantKey = recordId('Grant', grantId)
    if (!lastsUntil(grantKey, until)) await this.#parts.store.extendGrant(grantKey, until)
    if (uidHash === null || lastsUntil(uidHash, until)) return
    // A new session is saved with the response. Its row also outlasts the refresh token that the code may be exchanged for.
    if (isNewSession(sessionUid)) noteExpiry(uidHash, until + this.#parts.registry.refreshTtl(clientId))
    else await this.#parts.store.extendSession(uidHash, until)
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const { lookups } = this.#parts
    // The library knows the registered clients from its configuration.
    if (this.#kind === 'Client') return this.#parts.findDocumentClient(id)
    if (isCookieRecord(this.#kind, id)) return this.#findInCookie(id)
    const key = recordId(this.#kind, id)
    if (this.#redis) return this.#payloadOf(await this.#redis.find(key))
    return this.#payloadOf(await lookups.oauthRecord(key))
  }

  /** Returns a record from a cookie. Once an interaction has a row, only the row counts, because it may be consumed. */
  async #findInCookie(cookie: string): Promise<AdapterPayload | undefined> {
    const payload = this.#parts.cookieRecords.open(this.#kind, cookie)
    if (!payload || this.#kind === 'Session') return payload ?? undefined
    const row = await this.#parts.lookups.oauthRecord(recordId(this.#kind, String(payload.jti)))
    return row ? this.#payloadOf(row) : payload
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.#payloadOf(await this.#parts.lookups.oauthRecordByUid(recordId('uid', uid)))
  }

  async findByUserCode(code: string): Promise<AdapterPayload | undefined> {
    const { lookups, seal } = this.#parts
    for (const hash of seal.codeHashes(code)) {
      const row = await (this.#redis ? this.#redis.findByCode(hash) : lookups.oauthRecordByCode(hash))
      if (row) return this.#payloadOf(row)
    }
    return undefined
  }

  async consume(id: string): Promise<void> {
    const { store, clock } = this.#parts
    const key = recordId(this.#kind, id)
    // The library saves the refresh token next, which writes the use as well.
    if (!this.#redis && ofGrant.has(this.#kind) && deferUse({ kind: this.#kind, id: key })) return
    const isUsed = await (this.#redis ?? store).consume(key, clock.now())
    if (isUsed || !usedOnce.has(this.#kind)) return
    // The library checks before it consumes, so the second of two concurrent requests is rejected here.
    if (this.#kind === 'PushedAuthorizationRequest') throw new errors.InvalidRequestUri('request_uri was already used')
    throw usedAlready()
  }

  async destroy(id: string): Promise<void> {
    const { store, clock } = this.#parts
    const key = recordId(this.#kind, id)
    if (this.#kind !== 'Interaction') return (this.#redis ?? store).destroy(key)
    // The row of an interaction stays until it expires, because the browser can send its cookie again.
    if (!(await store.finish(key, clock.now()))) throw new errors.SessionNotFound('it was completed already')
  }

  revokeByGrantId(grantId: string): Promise<void> {
    return this.#parts.store.destroyByGrant(recordId('grant', grantId))
  }

  #payloadOf(row: OauthRecordRow | null): AdapterPayload | undefined {
    const { clock, config, seal } = this.#parts
    const now = clock.now()
    if (!row || row.kind !== this.#kind) return undefined
    if (row.expiresAt !== null && row.expiresAt <= now) {
      if (this.#kind === 'RefreshToken') noteCause('it has expired')
      return undefined
    }
    const stored = seal.open(row)
    if (!stored) return undefined
    const payload = lasting.has(this.#kind) ? this.#lastingOf(row, stored) : stored
    if (row.consumedAt === null) return payload
    if (this.#kind === 'Interaction') return undefined
    // A client may repeat a request if it lost the response. Within the grace, a refresh token gets the same successor,
    // and a device code is rejected without revoking the tokens of the first request.
    const isRepeated =
      (this.#kind === 'RefreshToken' || this.#kind === 'DeviceCode') &&
      now - row.consumedAt < config.oauth.refresh_grace &&
      isTokenRequest()
    const isRaced = this.#kind === 'AuthorizationCode' && Provider.ctx !== undefined && hasLostRace(Provider.ctx.req)
    return isRepeated || isRaced ? payload : { ...payload, consumed: Math.floor(row.consumedAt / 1000) }
  }

  /** Session or grant with the fields of its row. */
  #lastingOf(row: OauthRecordRow, stored: AdapterPayload): LastingPayload {
    const lasting: LastingPayload = { ...stored, ...(row.sessionId === null ? {} : { sessionId: row.sessionId }) }
    const key = this.#kind === 'Session' ? recordId('uid', String(stored.uid)) : recordId('Grant', String(stored.jti))
    if (row.expiresAt !== null) noteExpiry(key, row.expiresAt)
    const storedContent = this.#kind === 'Session' ? contentOf(lasting) : undefined
    return { ...lasting, storedId: stored.jti, storedPayload: row.payload, storedContent }
  }
}

const sessionEnded = () => new errors.SessionNotFound('the session has ended')
const usedAlready = () => new errors.InvalidGrant('it was used already')

const isTokenRequest = (): boolean => Provider.ctx?.oidc.route === 'token'
