import type { FastifyInstance, FastifyRequest } from 'fastify'
import { grants, storedAbilities } from '../access/abilities.ts'
import type { Caller, TokenCaller } from '../access/caller.ts'
import type { BearerCheck } from '../access/guard.ts'
import type { TokenRow } from '../access/lookups/lookups.ts'
import { constantTimeEqual } from '../crypto/hash.ts'
import { unauthenticated } from '../errors.ts'
import type { User } from '../users/user.ts'
import { revokeToken } from './revoke.ts'
import { parseToken, type TokenKey } from './token-string.ts'

/** Caller with an API token, limited to the token's abilities. */
class ApiTokenCaller implements TokenCaller {
  readonly kind = 'api_token'
  readonly profileScopes = null
  readonly credentialId: string
  readonly name: string
  readonly expiresAt: number | null
  readonly user: User
  readonly #row: TokenRow
  #abilities: readonly string[] | undefined

  constructor(row: TokenRow, user: User, expiresAt: number | null) {
    this.#row = row
    this.user = user
    this.expiresAt = expiresAt
    this.credentialId = String(row.id)
    this.name = row.name
  }

  get abilities(): readonly string[] {
    this.#abilities ??= storedAbilities(this.#row.abilities)
    return this.#abilities
  }

  can(ability: string): boolean {
    return grants(this.abilities, ability)
  }

  cant(ability: string): boolean {
    return !this.can(ability)
  }

  async revoke(request: FastifyRequest): Promise<void> {
    // Another request revoked the token after the guard accepted it.
    if (!(await revokeToken(request, this.user.id, this.#row.id))) throw unauthenticated('invalid')
  }
}

/** Expiry of a token, by its own date or the global age: Unix ms, null for never, 0 if its age is unknown. */
function endOf({ expiresAt, createdAt }: TokenRow, expiration: number | null): number | null {
  const own = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt)
  const byAge =
    expiration === null
      ? Number.POSITIVE_INFINITY
      : createdAt === null
        ? 0
        : Date.parse(createdAt) + expiration * 60_000
  const end = Math.min(own, byAge)
  return end === Number.POSITIVE_INFINITY ? null : end
}

/**
 * Guard check for `<id>|<secret>` and for legacy secrets without an id. Leaves texts with three dot-separated parts to
 * the JWT check.
 */
export const tokenBearer: BearerCheck = (bearer, request) => {
  if (!bearer.includes('|') && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(bearer)) return undefined
  const key = parseToken(bearer)
  return key ? callerOf(key, request) : Promise.resolve(null)
}

async function callerOf(key: TokenKey, { server: app }: Pick<FastifyRequest, 'server'>): Promise<Caller | null> {
  const live = await findLive(key, app)
  if (!live) return null
  const { row, user, end } = live
  app.touches.token(row.id, row.lastUsedAt === null ? null : Date.parse(row.lastUsedAt))
  return new ApiTokenCaller(row, user, end)
}

/** Returns a valid token with its owner and expiry (Unix ms; null for never), or null. */
export async function liveToken(text: string, app: FastifyInstance) {
  const key = parseToken(text)
  const live = key && (await findLive(key, app))
  if (!live) return null
  const { row, user, end } = live
  const since = row.createdAt === null ? null : Date.parse(row.createdAt)
  return { id: row.id, userId: user.id, abilities: storedAbilities(row.abilities), since, end }
}

async function findLive(key: TokenKey, app: FastifyInstance) {
  const row = await find(key, app)
  if (!row?.user || row.user.disabled || row.tokenableType !== 'user') return null
  if (!constantTimeEqual(row.token, key.hash)) return null
  const now = app.clock.now()
  const end = endOf(row, app.config.current().expiration)
  // An invalid date compares as false, so the token counts as expired.
  if (end !== null && !(now < end)) return null
  return { row, user: row.user, end }
}

const find = (key: TokenKey, { lookups }: FastifyInstance): Promise<TokenRow | null> =>
  key.id === null ? lookups.tokenByHash(key.hash) : lookups.tokenById(key.id)
