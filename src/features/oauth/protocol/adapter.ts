import Provider, { type Adapter, type AdapterPayload, errors } from 'oidc-provider'
import type { Lookups, OauthRecordRow } from '../../../access/lookups/lookups.ts'
import type { Config } from '../../../config/schema.ts'
import type { Clock } from '../../../plugins/clock.ts'
import type { Registry } from './clients.ts'
import { type NewRecord, type RecordStore, recordId } from './store.ts'

/** What the adapters of all models share. */
export interface AdapterParts {
  store: RecordStore
  lookups: Lookups
  clock: Clock
  registry: Registry
  config: Config
}

/** Kinds that belong to a grant and go with it. */
const ofGrant = new Set(['AccessToken', 'AuthorizationCode', 'RefreshToken', 'DeviceCode'])

/** Kinds that are used once: the second use must fail even if both come at the same moment. */
const usedOnce = new Set(['AuthorizationCode', 'DeviceCode', 'PushedAuthorizationRequest'])

/** What the library stores, as rows: identifiers hashed, payloads as text, times in our clock. */
export class RecordAdapter implements Adapter {
  readonly #kind: string
  readonly #parts: AdapterParts

  constructor(kind: string, parts: AdapterParts) {
    this.#kind = kind
    this.#parts = parts
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const { store, clock } = this.#parts
    const record = this.#recordOf(id, payload, expiresIn ? clock.now() + expiresIn * 1000 : null)
    // The successor of a refresh token that is used twice within the grace is written by whoever comes first.
    if (this.#kind === 'RefreshToken') await store.insert(record)
    else await store.put(record)
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const { registry, lookups } = this.#parts
    if (this.#kind === 'Client') return registry.metadata(id)
    return this.#payloadOf(await lookups.oauthRecord(recordId(this.#kind, id)))
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.#payloadOf(await this.#parts.lookups.oauthRecordByUid(recordId('uid', uid)))
  }

  async findByUserCode(code: string): Promise<AdapterPayload | undefined> {
    return this.#payloadOf(await this.#parts.lookups.oauthRecordByCode(recordId('code', code)))
  }

  async consume(id: string): Promise<void> {
    const { store, clock } = this.#parts
    const isUsed = await store.consume(recordId(this.#kind, id), clock.now())
    // The library looks first and consumes then: of two at once, the second is refused here.
    if (!isUsed && usedOnce.has(this.#kind)) throw new errors.InvalidGrant('it was used already')
  }

  destroy(id: string): Promise<void> {
    return this.#parts.store.destroy(recordId(this.#kind, id))
  }

  revokeByGrantId(grantId: string): Promise<void> {
    return this.#parts.store.destroyByGrant(recordId('grant', grantId))
  }

  #recordOf(id: string, payload: AdapterPayload, expiresAt: number | null): NewRecord {
    const { grantId, userCode, uid, accountId } = payload
    const sessionId = 'sessionId' in payload && typeof payload.sessionId === 'string' ? payload.sessionId : null
    return {
      id: recordId(this.#kind, id),
      kind: this.#kind,
      payload: JSON.stringify(payload),
      grantHash: grantId && ofGrant.has(this.#kind) ? recordId('grant', grantId) : null,
      codeHash: userCode ? recordId('code', userCode) : null,
      uidHash: uid && this.#kind === 'Session' ? recordId('uid', uid) : null,
      userId: accountId && /^\d{1,16}$/.test(accountId) ? BigInt(accountId) : null,
      sessionId,
      expiresAt,
    }
  }

  #payloadOf(row: OauthRecordRow | null): AdapterPayload | undefined {
    const { clock, config } = this.#parts
    const now = clock.now()
    if (!row || row.kind !== this.#kind || (row.expiresAt !== null && row.expiresAt <= now)) return undefined
    const payload: AdapterPayload = JSON.parse(row.payload)
    if (row.consumedAt === null) return payload
    // A refresh token whose answer was lost may be repeated for a moment: it gets the same successor.
    const isRepeated =
      this.#kind === 'RefreshToken' && now - row.consumedAt < config.oauth.refresh_grace && isTokenRequest()
    return isRepeated ? payload : { ...payload, consumed: Math.floor(row.consumedAt / 1000) }
  }
}

const isTokenRequest = (): boolean => Provider.ctx?.oidc.route === 'token'
