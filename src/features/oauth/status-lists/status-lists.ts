import { randomInt } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { JWTPayload } from 'jose'
import { sha256Base64url } from '../../../platform/crypto/hash.ts'
import { deleteOutdated } from '../../../platform/database/batches.ts'
import type { AccessTokenClaims } from '../access-token.ts'
import type { LiveToken } from '../alive.ts'
import { type Algorithm, algorithms } from '../keys/jwk.ts'
import type { RecordSeal } from '../records/record-seal.ts'
import { recordId } from '../records/store.ts'
import { encodeList, listSize } from './bits.ts'
import { insertEntry, listEntries } from './store.ts'

/** Lifetime of a signed list in svc and in caches, in seconds. A revocation is visible after twice this time at most. */
export const listTtl = 30

/** Seconds until consumers must reject a list: they can miss two refreshes. */
const listLifetime = 3 * listTtl

/** Time for which an entry outlives its token, in milliseconds, because the clocks of APIs differ. */
const keptFor = 300_000

/** Random places that svc tries in a list before it uses the next one. */
const maxAttempts = 4

/** Number of tokens that svc checks together. */
const pageSize = 1_000

/** Claims by which svc decides whether a token is live. */
type StatusClaims = Pick<
  AccessTokenClaims,
  'sub' | 'jti' | 'aud' | 'client_id' | 'gid' | 'gty' | 'subject_jti' | 'act' | 'iat' | 'exp'
>

/** Claim of a token that names its place (draft-ietf-oauth-status-list section 6.1). */
export interface StatusReference {
  status: { status_list: { idx: number; uri: string } }
}

interface SignedList {
  token: string
  etag: string
  /** Unix milliseconds. */
  until: number
}

interface StatusListParts {
  app: FastifyInstance
  seal: RecordSeal
  /** The token of these claims; null if it ended. */
  activeOf(claims: AccessTokenClaims): Promise<LiveToken | null>
  sign(claims: JWTPayload, algorithm: Algorithm, typ: string): Promise<string>
}

/**
 * Status lists of access tokens (draft-ietf-oauth-status-list), for the APIs with `status_list`. A token gets a random
 * place, so that its index says nothing about when it was issued.
 *
 * An entry stores the claims of its token, and svc derives the bits from the predicate that the guard and introspection
 * use. Recording revocations instead would have to cover each way in which tokens end: revoked, signed out, an ended
 * grant or session, a disabled or deleted user, a removed client or API.
 */
export class StatusLists {
  readonly #parts: StatusListParts
  readonly #signed = new Map<number, SignedList>()
  readonly #renewing = new Map<number, Promise<SignedList | null>>()
  /** List in use, by algorithm. */
  #current = new Map<Algorithm, number>()

  constructor(parts: StatusListParts) {
    this.#parts = parts
  }

  /** Claim for a new token; empty if its API has no status list. */
  async referenceFor(claims: StatusClaims): Promise<StatusReference | object> {
    const { apis, app } = this.#parts.app.config.current()
    const api = Object.values(apis).find(({ audience }) => audience === claims.aud)
    if (!api?.status_list) return {}
    const { list, idx } = await this.#takePlace(claims, api.algorithm)
    return { status: { status_list: { idx, uri: `${app.url}/oauth/status/${list}` } } }
  }

  /** A list is signed with the algorithm of its APIs, which its number implies. */
  async #takePlace(claims: StatusClaims, algorithm: Algorithm): Promise<{ list: number; idx: number }> {
    const { app, seal } = this.#parts
    const expiresAt = claims.exp * 1000 + keptFor
    for (;;) {
      const list = this.#current.get(algorithm) ?? algorithms.indexOf(algorithm)
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const idx = randomInt(listSize)
        const sealed = seal.seal(placeId(list, idx), claims)
        if (await insertEntry(app.database, { list, idx, claims: sealed, expiresAt })) return { list, idx }
      }
      this.#current.set(algorithm, list + algorithms.length)
    }
  }

  /** The signed list of this number, and for how many seconds it may be cached; null if it has no tokens. */
  async find(list: number): Promise<{ token: string; etag: string; maxAge: number } | null> {
    const now = this.#parts.app.clock.now()
    const known = this.#signed.get(list)
    const found = known && now < known.until ? known : await this.#renew(list, now)
    return found && { ...found, maxAge: Math.max(0, Math.floor((found.until - now) / 1000)) }
  }

  /** Signs a list once for all concurrent requests. */
  #renew(list: number, now: number): Promise<SignedList | null> {
    let renewing = this.#renewing.get(list)
    if (!renewing) {
      renewing = this.#build(list, now).finally(() => this.#renewing.delete(list))
      this.#renewing.set(list, renewing)
    }
    return renewing
  }

  async #build(list: number, now: number): Promise<SignedList | null> {
    const { app, sign } = this.#parts
    const algorithm = algorithms[list % algorithms.length]
    const invalid: number[] = []
    let count = 0
    for (let after = -1; ; ) {
      const entries = await listEntries(app.database, { list, after, now, count: pageSize })
      const states = await Promise.all(entries.map(({ idx, claims }) => this.#isInvalid(list, idx, claims)))
      for (const [index, { idx }] of entries.entries()) if (states[index]) invalid.push(idx)
      count += entries.length
      after = entries.at(-1)?.idx ?? after
      if (entries.length < pageSize) break
      await turn()
    }
    if (count === 0 || !algorithm) return null
    const iat = Math.floor(now / 1000)
    const sub = `${app.config.current().app.url}/oauth/status/${list}`
    const claims = { sub, iat, exp: iat + listLifetime, ttl: listTtl, status_list: encodeList(invalid) }
    const token = await sign(claims, algorithm, 'statuslist+jwt')
    const signed = { token, etag: `"${sha256Base64url(token)}"`, until: now + listTtl * 1000 }
    this.#signed.set(list, signed)
    return signed
  }

  /** Tests whether a token was revoked. It counts as revoked if no secret decrypts its claims. */
  async #isInvalid(list: number, idx: number, payload: string): Promise<boolean> {
    const claims = this.#parts.seal.open<AccessTokenClaims>({ id: placeId(list, idx), payload })
    // Also after `exp`: the clock of an API may be late.
    return !claims || (await this.#parts.activeOf(claims)) === null
  }

  /** Deletes the entries of expired tokens, and uses their places again. */
  async prune(): Promise<void> {
    const { database, clock } = this.#parts.app
    const before = clock.now()
    await deleteOutdated(database, { table: 'oauth_status_entries', key: 'list, idx', date: 'expires_at', before })
    this.#current = new Map()
    for (const [list, { until }] of this.#signed) if (until <= before) this.#signed.delete(list)
  }
}

const placeId = (list: number, idx: number): string => recordId('Status', `${list}:${idx}`)
