import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { hasSignInFor } from '../../auth/access/abilities.ts'
import type { Caller } from '../../auth/access/caller.ts'
import { claimsAbout, composedClaims } from '../../identity/claims.ts'
import { cacheSize, RecentMap } from '../../platform/cache.ts'
import type { Config } from '../../platform/config/schema.ts'
import { randomId } from '../../platform/crypto/random.ts'

/** Lifetime in seconds. svc reuses a token for half of it, so that each one is valid for at least 30 seconds when sent. */
const lifetime = 60

/** `client_id` of these tokens. No client can have this id, so svc rejects them as bearers. */
const clientId = 'svc-guard'

type Claims = Readonly<Record<string, string | number | boolean | object>>

interface CachedToken {
  token: string
  /** What svc signed, apart from the times and the id of the token. */
  signed: Claims
  /** Unix seconds. */
  usedUntil: number
}

/**
 * Access tokens that replace the credential of a request: for one API, with the abilities as scopes. The API needs only
 * the key set of svc, and sees neither cookies nor opaque tokens.
 */
export class PhantomTokens {
  readonly #app: Pick<FastifyInstance, 'config' | 'clock' | 'oauth'>
  readonly #kept = new RecentMap<CachedToken>(cacheSize.tokens)

  constructor(app: FastifyInstance) {
    this.#app = app
  }

  /** Returns the token of a caller for an API of the configuration. The caller was authenticated by this request. */
  async tokenFor(caller: Caller, api: Config['apis'][string]): Promise<string> {
    const { clock, config, oauth } = this.#app
    const now = Math.floor(clock.now() / 1000)
    const claims = this.#claimsOf(caller, api)
    const signed = { ...claims, alg: api.algorithm, iss: config.current().app.url }
    // The key only finds the token. What it says is compared claim by claim.
    const key = `${api.audience} ${caller.kind} ${caller.credentialId}`
    const known = this.#kept.get(key)
    if (known && now < known.usedUntil && isSame(known.signed, signed)) return known.token
    const exp = Math.min(now + lifetime, Math.floor((caller.expiresAt ?? Number.POSITIVE_INFINITY) / 1000))
    // Throws before the token is cached if the signature fails.
    const token = await oauth.sign({ ...claims, jti: randomId(), iat: now, exp }, api.algorithm)
    this.#kept.add(key, { token, signed, usedUntil: now + (exp - now) / 2 })
    return token
  }

  #claimsOf(caller: Caller, { audience, scopes, claims }: Config['apis'][string]): Claims {
    const { user } = caller
    const config = this.#app.config.current()
    const [name = null] = Object.keys(config.apis).filter((one) => config.apis[one]?.audience === audience)
    // Omits scopes that need a stronger sign-in, because the API cannot see how the user signed in.
    const granted = scopes.filter((scope) => caller.can(scope) && hasSignInFor(caller, scope))
    const clientOf = caller.kind === 'machine' ? caller.clientId : undefined
    return {
      aud: audience,
      sub: user ? String(user.id) : (clientOf ?? caller.credentialId),
      client_id: clientId,
      ...(granted.length > 0 ? { scope: granted.join(' ') } : {}),
      ...(user ? { role: user.role } : {}),
      ...(caller.delegation ? { act: caller.delegation } : {}),
      // Only with a scope of the API, because users consent to claims together with its scopes.
      ...(user && granted.length > 0
        ? { ...claimsAbout(user, config, claims), ...composedClaims(user, config, { client: clientId, api: name }) }
        : {}),
    }
  }
}

/** Tests for the same claims with the same values. */
function isSame(a: Claims, b: Claims): boolean {
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((name) => isDeepStrictEqual(a[name], b[name]))
}
