import type { FastifyInstance } from 'fastify'
import { hasSignInFor } from '../../access/abilities.ts'
import type { Caller } from '../../access/caller.ts'
import type { Config } from '../../config/schema.ts'
import { randomId } from '../../crypto/random.ts'
import { RecentMap } from '../../crypto/recent.ts'
import { claimsAbout } from '../../users/claims.ts'

/** Lifetime in seconds. A token is used for half of it, so that it is valid for a while wherever it arrives. */
const lifetime = 60

/** `client_id` of these tokens. No client can have this id, so svc rejects them as bearers. */
const clientId = 'svc-guard'

/** Maximum number of tokens that are kept. */
const maxKept = 10_000

interface Kept {
  token: string
  /** Unix seconds. */
  usedUntil: number
}

/**
 * Access tokens that replace the credential of a request: for one API, with the abilities as scopes. The API needs only
 * the key set of svc, and sees neither cookies nor opaque tokens.
 */
export class PhantomTokens {
  readonly #app: Pick<FastifyInstance, 'config' | 'clock' | 'oauth'>
  readonly #kept = new RecentMap<Kept>(maxKept)

  constructor(app: FastifyInstance) {
    this.#app = app
  }

  /** Returns the token of a caller for an API of the configuration. The caller was authenticated by this request. */
  async tokenFor(caller: Caller, api: Config['apis'][string]): Promise<string> {
    const { clock, config, oauth } = this.#app
    const now = Math.floor(clock.now() / 1000)
    const claims = this.#claimsOf(caller, api)
    const key = JSON.stringify([caller.kind, caller.credentialId, claims, api.algorithm, config.current().app.url])
    const known = this.#kept.get(key)
    if (known && now < known.usedUntil) return known.token
    const exp = Math.min(now + lifetime, Math.floor((caller.expiresAt ?? Number.POSITIVE_INFINITY) / 1000))
    // A failed signature is not kept.
    const token = await oauth.sign({ ...claims, jti: randomId(), iat: now, exp }, api.algorithm)
    this.#kept.add(key, { token, usedUntil: now + (exp - now) / 2 })
    return token
  }

  #claimsOf(caller: Caller, { audience, scopes, claims }: Config['apis'][string]) {
    const { user } = caller
    // The token says nothing about the sign-in, so the API cannot check it.
    const granted = scopes.filter((scope) => caller.can(scope) && hasSignInFor(caller, scope))
    const clientOf = caller.kind === 'machine' ? caller.clientId : undefined
    return {
      aud: audience,
      sub: user ? String(user.id) : (clientOf ?? caller.credentialId),
      client_id: clientId,
      ...(granted.length > 0 ? { scope: granted.join(' ') } : {}),
      ...(user ? { role: user.role } : {}),
      // Users allow clients to know them by the scopes of the API.
      ...(user && granted.length > 0 ? claimsAbout(user, claims) : {}),
    }
  }
}
