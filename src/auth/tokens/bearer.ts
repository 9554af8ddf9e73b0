import type { FastifyInstance } from 'fastify'
import type { User } from '../../identity/user.ts'
import type { Config } from '../../platform/config/schema.ts'
import { isManagementScope } from '../../platform/config/sections/admin.ts'
import { constantTimeEqual } from '../../platform/crypto/hash.ts'
import { unauthenticated } from '../../platform/errors.ts'
import { grants, storedAbilities } from '../access/abilities.ts'
import { hasAdminRole } from '../access/administrators.ts'
import type { BearerChecks, BoundCheck } from '../access/bearer-token.ts'
import type { TokenCaller } from '../access/caller.ts'
import { boundRefusal, requireProof } from '../access/dpop.ts'
import type { TokenRow } from '../access/lookups/lookups.ts'
import type { Act } from '../access/visit.ts'
import { revokeToken } from './revoke.ts'
import { parseToken, type TokenKey } from './token-string.ts'

/** Returns the abilities of a token, without management scopes unless the user is an administrator: any user can request it. */
export function abilitiesOf({ abilities }: Pick<TokenRow, 'abilities'>, user: User, config: Config): string[] {
  const stored = storedAbilities(abilities)
  return hasAdminRole(user, config) ? stored : stored.filter((ability) => !isManagementScope(ability))
}

/** Caller with an API token, limited to the token's abilities. */
class ApiTokenCaller implements TokenCaller {
  readonly kind = 'api_token'
  readonly profileScopes = null
  readonly credentialId: string
  readonly name: string
  readonly expiresAt: number | null
  readonly isBound: boolean
  readonly user: User
  readonly #row: TokenRow
  readonly #config: Config
  #abilities: readonly string[] | undefined

  constructor({ row, user, expiresAt }: LiveApiToken, config: Config) {
    this.#row = row
    this.#config = config
    this.user = user
    this.expiresAt = expiresAt
    this.credentialId = String(row.id)
    this.name = row.name
    this.isBound = row.keyThumbprint !== null
  }

  get keyThumbprint(): string | null {
    return this.#row.keyThumbprint
  }

  get abilities(): readonly string[] {
    this.#abilities ??= abilitiesOf(this.#row, this.user, this.#config)
    return this.#abilities
  }

  can(ability: string): boolean {
    return grants(this.abilities, ability)
  }

  cant(ability: string): boolean {
    return !this.can(ability)
  }

  async revoke(act: Act): Promise<void> {
    // Another request revoked the token after the guard accepted it.
    if (!(await revokeToken(act, this.user.id, this.#row.id))) throw unauthenticated('invalid')
  }
}

/** Returns when a token expires, by its own date or `expiration`: Unix ms, null for never, 0 if its age is unknown. */
export function tokenExpiry(
  { expiresAt, createdAt }: Pick<TokenRow, 'expiresAt' | 'createdAt'>,
  expiration: number | null,
): number | null {
  const own = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt)
  const byAge =
    expiration === null ? Number.POSITIVE_INFINITY : createdAt === null ? 0 : Date.parse(createdAt) + expiration
  const earliest = Math.min(own, byAge)
  return earliest === Number.POSITIVE_INFINITY ? null : earliest
}

/** Parts of the app that a token lookup needs. */
type Parts = Pick<FastifyInstance, 'lookups' | 'clock' | 'config'>

/** Valid API token. Times are Unix milliseconds. */
export interface LiveApiToken {
  row: TokenRow
  user: User
  /** Null if unknown. */
  createdAt: number | null
  /** Null for never. */
  expiresAt: number | null
}

/** Authenticates API tokens with the scheme `DPoP` and a proof of possession. */
export const boundToken: BoundCheck = async (token, request, { target }) => {
  const { server: app } = request
  const live = await liveToken(token, app)
  if (!live?.row.keyThumbprint) throw boundRefusal('invalid_token')
  await requireProof(request, { token, thumbprint: live.row.keyThumbprint, target })
  noteUse(app, live.row)
  return new ApiTokenCaller(live, app.config.current())
}

/** Authenticates API tokens. Throws 401 for one that is bound to a key (RFC 9449 section 7.2). */
export const tokenBearer: BearerChecks['apiToken'] = async (bearer, { server: app }) => {
  const live = await liveToken(bearer, app)
  if (!live) return null
  if (live.row.keyThumbprint !== null) throw boundRefusal('invalid_token')
  noteUse(app, live.row)
  return new ApiTokenCaller(live, app.config.current())
}

/** Records that a token was used. */
export function noteUse({ touches }: FastifyInstance, { id, lastUsedAt }: TokenRow): void {
  touches.token(id, lastUsedAt === null ? null : Date.parse(lastUsedAt))
}

/** Returns a valid API token, or null. */
export async function liveToken(text: string, parts: Parts): Promise<LiveApiToken | null> {
  const found = await unexpiredToken(text, parts)
  return found && !found.user.disabled ? found : null
}

/** Returns an API token that has not expired, even if its user is disabled. Returns null for an invalid or expired token. */
export async function unexpiredToken(text: string, parts: Parts): Promise<LiveApiToken | null> {
  const key = parseToken(text)
  const row = key && (await find(key, parts))
  return row && constantTimeEqual(row.token, key.hash) ? unexpired(row, parts) : null
}

/** Tests whether the user has a valid API token with this id. */
export async function isLiveToken(id: bigint, userId: string, parts: Parts): Promise<boolean> {
  const row = await parts.lookups.tokenById(id)
  const found = row && unexpired(row, parts)
  return found !== null && !found.user.disabled && String(found.user.id) === userId
}

function unexpired(row: TokenRow, { clock, config }: Parts): LiveApiToken | null {
  if (!row.user || row.tokenableType !== 'user') return null
  const now = clock.now()
  const expiresAt = tokenExpiry(row, config.current().expiration)
  // An invalid date compares as false, so the token counts as expired.
  if (expiresAt !== null && !(now < expiresAt)) return null
  const createdAt = row.createdAt === null ? null : Date.parse(row.createdAt)
  return { row, user: row.user, createdAt, expiresAt }
}

const find = (key: TokenKey, { lookups }: Parts): Promise<TokenRow | null> =>
  key.id === null ? lookups.tokenByHash(key.hash) : lookups.tokenById(key.id)
