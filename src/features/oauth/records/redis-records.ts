import type { OauthRecordRow } from '../../../auth/access/lookups/lookups.ts'
import type { Redis } from '../../../platform/database/redis.ts'
import { unavailable } from '../../../platform/errors.ts'
import type { NewRecord } from './records.ts'

/**
 * Kinds that live for minutes and that no other record refers to. Redis can store them instead of the database; svc
 * rejects what Redis loses. Used proofs and assertions are not among them, because they would become valid again.
 * Interactions are not either, because they must end with their account.
 */
export const shortLived: ReadonlySet<string> = new Set([
  'AuthorizationCode',
  'DeviceCode',
  'PushedAuthorizationRequest',
])

const keyOf = (id: string): string => `oauth:${id}`
const usedKeyOf = (id: string): string => `oauth:${id}:used`
const codeKeyOf = (hash: string): string => `oauth-code:${hash}`

/**
 * Short-lived records in Redis, which expires them. While Redis is unavailable, requests get 503, because svc can
 * neither accept nor consume a code.
 */
export class RedisRecords {
  readonly #redis: Redis

  constructor(redis: Redis) {
    this.#redis = redis
  }

  /** Inserts or updates a record. */
  async put(record: NewRecord, now: number): Promise<void> {
    const life = lifeOf(record, now)
    const writes = this.#redis.pipeline().set(keyOf(record.id), textOf(record), 'PX', life)
    if (record.codeHash !== null) writes.set(codeKeyOf(record.codeHash), record.id, 'PX', life)
    const results = await orRefuse(writes.exec())
    const failed = results?.find(([error]) => error)
    if (failed) throw unavailable(failed[0])
  }

  async find(id: string): Promise<OauthRecordRow | null> {
    const [text, used] = await orRefuse(this.#redis.mget(keyOf(id), usedKeyOf(id)))
    if (!text) return null
    const { kind, payload, expiresAt }: Stored = JSON.parse(text)
    const consumedAt = used ? Number(used) : null
    return { id, kind, payload, key: id, sessionId: null, consumedAt, expiresAt }
  }

  async findByCode(hash: string): Promise<OauthRecordRow | null> {
    const id = await orRefuse(this.#redis.get(codeKeyOf(hash)))
    return id === null ? null : this.find(id)
  }

  /** Consumes a record; false if it was used before. The mark outlives the record by the maximum clock difference. */
  async consume(id: string, now: number): Promise<boolean> {
    const left = await orRefuse(this.#redis.pttl(keyOf(id)))
    if (left <= 0) return false
    return (await orRefuse(this.#redis.set(usedKeyOf(id), String(now), 'PX', left + clockSkew, 'NX'))) === 'OK'
  }

  async destroy(id: string): Promise<void> {
    await orRefuse(this.#redis.del(keyOf(id)))
  }
}

/** Stored form of a record. */
type Stored = Pick<OauthRecordRow, 'kind' | 'payload' | 'expiresAt'>

const clockSkew = 60_000

const textOf = ({ kind, payload, expiresAt }: NewRecord): string =>
  JSON.stringify({ kind, payload, expiresAt } satisfies Stored)

const lifeOf = ({ expiresAt }: NewRecord, now: number): number => Math.max(1, (expiresAt ?? now + 3_600_000) - now)

async function orRefuse<Value>(answer: Promise<Value>): Promise<Value> {
  try {
    return await answer
  } catch (error) {
    throw unavailable(error)
  }
}
