import Provider, { type Adapter, type AdapterPayload, errors } from 'oidc-provider'
import type { Lookups, OauthRecordRow } from '../../../access/lookups/lookups.ts'
import type { Clock } from '../../../clock.ts'
import type { Config } from '../../../config/schema.ts'
import { type CarriedRecords, isCarried } from './carried.ts'
import type { Registry } from './clients.ts'
import type { PendingLimits } from './pending-limits.ts'
import type { RecordSeal } from './record-seal.ts'
import { type RedisRecords, shortLived } from './redis-records.ts'
import { type NewRecord, type RecordStore, recordId } from './store.ts'

/** What the adapters of all models share. */
export interface AdapterParts {
  store: RecordStore
  seal: RecordSeal
  carried: CarriedRecords
  pending: PendingLimits
  lookups: Lookups
  clock: Clock
  registry: Registry
  config: Config
  /** Where short-lived records are in place of the database; null without a Redis. */
  quick: RedisRecords | null
}

/** Kinds that belong to a grant and go with it. */
const ofGrant = new Set(['AccessToken', 'AuthorizationCode', 'RefreshToken', 'DeviceCode'])

/** Kinds that are used once: the second use must fail even if both come at the same moment. */
const usedOnce = new Set(['AuthorizationCode', 'DeviceCode', 'PushedAuthorizationRequest'])

/**
 * How long svc stores a pushed request after it expires, in milliseconds: until the user has signed in and consented.
 * Without the row, svc could not tell whether another interaction was granted.
 */
const pushedRequestKeptFor = 2 * 3_600_000

/** Kinds that last as long as something refers to them; the library would keep them for a fixed time. */
const lasting = new Set(['Session', 'Grant'])

/** How long one of those lasts before anything comes from it, in milliseconds: the time to sign in and to consent. */
const unusedFor = 3_600_000

/** The payload of a session or grant with what its row adds: how it was read, and the browser session it belongs to. */
type LastingPayload = AdapterPayload & {
  storedId?: string | undefined
  storedPayload?: string | undefined
  storedUntil?: number | undefined
  sessionId?: string
}

/** Stores what the library stores as rows: identifiers hashed, payloads encrypted, times by svc's clock. */
export class RecordAdapter implements Adapter {
  readonly #kind: string
  readonly #parts: AdapterParts
  readonly #quick: RedisRecords | null

  constructor(kind: string, parts: AdapterParts) {
    this.#kind = kind
    this.#parts = parts
    this.#quick = shortLived.has(kind) ? parts.quick : null
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const { store, clock, pending } = this.#parts
    if (this.#parts.carried.takes(this.#kind, id, payload)) return
    await pending.count(this.#kind, payload)
    if (lasting.has(this.#kind)) return this.#saveLasting(id, payload)
    const keptFor = this.#kind === 'PushedAuthorizationRequest' ? pushedRequestKeptFor : 0
    const end = expiresIn ? clock.now() + expiresIn * 1000 + keptFor : null
    const record = this.#recordOf(id, payload, end)
    // The successor of a refresh token that is used twice within the grace is written by whoever comes first.
    if (this.#kind === 'RefreshToken') await store.insert(record)
    else if (this.#quick) await this.#quick.put(record, clock.now())
    else await store.put(record)
    if (payload.grantId && ofGrant.has(this.#kind)) await this.#extend(payload, payload.grantId, end ?? clock.now())
  }

  /** Saves a session or grant: what was read updates its row, and fails if the row has ended since then. */
  async #saveLasting(id: string, saved: LastingPayload): Promise<void> {
    const { storedId, storedPayload, storedUntil: _, ...payload } = saved
    const { store, clock } = this.#parts
    const record = this.#recordOf(id, { ...payload, sessionId: undefined }, clock.now() + this.#leastLife(payload))
    const { sessionId: owner = null } = payload
    const isSession = this.#kind === 'Session'
    // A session that knows a user follows a browser session of that user, whose end is then its own.
    const isOwned = record.userId !== null && (isSession || (owner !== null && !storedId))
    const follows = isSession && isOwned ? owner : null
    const isSaved = await write({ ...record, sessionId: follows })
    if (isSaved) return
    const merged = isSession ? await this.#mergeSession(saved) : null
    if (!merged) throw new errors.SessionNotFound('the session has ended')
    return this.#saveLasting(id, merged)

    async function write(row: NewRecord): Promise<boolean> {
      if (isOwned && owner === null) return false
      const read = isSession ? (storedPayload ?? '') : null
      if (storedId) return store.replace(recordId(row.kind, storedId), read, row)
      return isOwned && owner !== null ? store.insertOf(owner, row) : store.insert(row)
    }
  }

  /**
   * A session with what another request of the same browser saved after it was read: both requests may authorize a
   * client. Null if the session has ended, or if it did not change and the save failed for another reason.
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

  /** How long a session or grant lasts by itself, in milliseconds: what comes from it lets it last longer. */
  #leastLife({ accountId, clientId }: AdapterPayload): number {
    const { oauth, session } = this.#parts.config
    if (this.#kind === 'Session') return accountId ? session.absolute_lifetime : unusedFor
    return unusedFor + Math.max(oauth.authorization_code_ttl, oauth.device_code_ttl) + this.#accessLife(clientId)
  }

  #accessLife(clientId: string | undefined): number {
    const { registry, config } = this.#parts
    return registry.client(clientId)?.access_token_ttl ?? config.oauth.access_token_ttl
  }

  /** Lets the grant, and the session that the token is bound to, last as long as anything that the token is exchanged for. */
  async #extend(
    { clientId, expiresWithSession, sessionUid }: AdapterPayload,
    grantId: string,
    end: number,
  ): Promise<void> {
    const uidHash = expiresWithSession && sessionUid ? recordId('uid', sessionUid) : null
    const until = end + this.#accessLife(clientId)
    // The grant that the request has read may last long enough already: most do, and each statement costs.
    if (uidHash === null && readUntil(grantId) > until) return
    await this.#parts.store.extend(recordId('Grant', grantId), uidHash, until)
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const { registry, lookups } = this.#parts
    if (this.#kind === 'Client') return registry.metadata(id)
    if (isCarried(this.#kind, id)) return this.#findCarried(id)
    const key = recordId(this.#kind, id)
    return this.#payloadOf(await (this.#quick ? this.#quick.find(key) : lookups.oauthRecord(key)))
  }

  /** What a cookie contains. Once an interaction is a row, that row alone counts: it may be used up. */
  async #findCarried(cookie: string): Promise<AdapterPayload | undefined> {
    const payload = this.#parts.carried.open(this.#kind, cookie)
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
      const row = await (this.#quick ? this.#quick.findByCode(hash) : lookups.oauthRecordByCode(hash))
      if (row) return this.#payloadOf(row)
    }
    return undefined
  }

  async consume(id: string): Promise<void> {
    const { store, clock } = this.#parts
    const isUsed = await (this.#quick ?? store).consume(recordId(this.#kind, id), clock.now())
    if (isUsed || !usedOnce.has(this.#kind)) return
    // The library checks before it consumes, so the second of two concurrent requests is rejected here.
    if (this.#kind === 'PushedAuthorizationRequest') throw new errors.InvalidRequestUri('request_uri was already used')
    throw new errors.InvalidGrant('it was used already')
  }

  async destroy(id: string): Promise<void> {
    const { store, clock } = this.#parts
    const key = recordId(this.#kind, id)
    if (this.#kind !== 'Interaction') return (this.#quick ?? store).destroy(key)
    // The row of an interaction stays until it expires, because the browser can send its cookie again.
    if (!(await store.finish(key, clock.now()))) throw new errors.SessionNotFound('it was completed already')
  }

  revokeByGrantId(grantId: string): Promise<void> {
    return this.#parts.store.destroyByGrant(recordId('grant', grantId))
  }

  #recordOf(id: string, payload: AdapterPayload, expiresAt: number | null): NewRecord {
    const { grantId, userCode, uid, sessionUid, expiresWithSession, endsWithSession } = payload
    // An interaction belongs to the user who signed in, or else to the user of the session that began it.
    const accountId = payload.result?.login?.accountId ?? payload.accountId ?? payload.session?.accountId
    const key = recordId(this.#kind, id)
    const { seal } = this.#parts
    return {
      id: key,
      kind: this.#kind,
      payload: seal.seal(key, payload),
      grantHash: grantId && ofGrant.has(this.#kind) ? recordId('grant', grantId) : null,
      codeHash: (userCode && seal.codeHashes(userCode)[0]) || null,
      parentHash: sessionUid && (expiresWithSession || endsWithSession) ? recordId('uid', sessionUid) : null,
      uidHash: uid && this.#kind === 'Session' ? recordId('uid', uid) : null,
      userId: accountId && /^\d{1,16}$/.test(accountId) ? BigInt(accountId) : null,
      sessionId: null,
      expiresAt,
    }
  }

  #payloadOf(row: OauthRecordRow | null): AdapterPayload | undefined {
    const { clock, config, seal } = this.#parts
    const now = clock.now()
    if (!row || row.kind !== this.#kind || (row.expiresAt !== null && row.expiresAt <= now)) return undefined
    const stored = seal.open(row)
    if (!stored) return undefined
    const payload = lasting.has(this.#kind)
      ? {
          ...stored,
          storedId: stored.jti,
          storedPayload: row.payload,
          storedUntil: row.expiresAt,
          ...(row.sessionId === null ? {} : { sessionId: row.sessionId }),
        }
      : stored
    if (row.consumedAt === null) return payload
    if (this.#kind === 'Interaction') return undefined
    // A client may repeat a request whose answer was lost: a refresh token gets the same successor for a moment, and a
    // device code is refused without revoking what the first request got.
    const isRepeated =
      (this.#kind === 'RefreshToken' || this.#kind === 'DeviceCode') &&
      now - row.consumedAt < config.oauth.refresh_grace &&
      isTokenRequest()
    return isRepeated ? payload : { ...payload, consumed: Math.floor(row.consumedAt / 1000) }
  }
}

/** Until when (unix ms) the grant of this request lasts, as it was read; 0 for another one. */
function readUntil(grantId: string): number {
  const grant: { jti?: string; storedUntil?: number } | undefined = Provider.ctx?.oidc.entities.Grant
  return grant?.jti === grantId ? (grant.storedUntil ?? 0) : 0
}

const isTokenRequest = (): boolean => Provider.ctx?.oidc.route === 'token'
