import type { FastifyInstance } from 'fastify'
import { grants } from '../../auth/access/abilities.ts'
import type { BearerChecks, BoundCheck } from '../../auth/access/bearer-token.ts'
import type { TokenCaller, TokenSignIn } from '../../auth/access/caller.ts'
import { boundRefusal, requireProof } from '../../auth/access/dpop.ts'
import type { Act } from '../../auth/access/visit.ts'
import { recordEvent } from '../../identity/events.ts'
import type { User } from '../../identity/user.ts'
import type { HttpError } from '../../platform/errors.ts'
import { logAdvice } from '../../platform/http/advice.ts'
import type { AccessTokenClaims } from './access-token.ts'
import type { LiveToken } from './alive.ts'
import { deletePersonalToken } from './applications/store.ts'
import { actorsOf } from './delegation/actors.ts'
import type { OAuthServer } from './protocol/oauth-server.ts'
import { denyToken } from './records/store.ts'
import { signInRefusal } from './sign-in-refusal.ts'

/** Caller with a JWT access token, limited to its scopes. Without a user for client credentials. */
class JwtCaller implements TokenCaller {
  readonly kind: 'user_jwt' | 'machine'
  readonly credentialId: string
  readonly clientId: string
  readonly name: string | null
  readonly abilities: readonly string[]
  readonly expiresAt: number
  readonly isBound: boolean
  readonly profileScopes: readonly string[] | null
  readonly user: User | null
  readonly actor?: string
  readonly delegation?: object

  readonly #claims: AccessTokenClaims
  readonly #server: FastifyInstance

  constructor(server: FastifyInstance, { claims, user, name }: LiveToken) {
    this.kind = user ? 'user_jwt' : 'machine'
    this.credentialId = claims.jti
    this.clientId = claims.client_id
    this.name = name
    this.abilities = claims.scope?.split(' ') ?? []
    this.expiresAt = claims.exp * 1000
    this.profileScopes = server.oauth.registry().isFirstParty(claims.client_id) ? null : this.abilities
    this.user = user
    this.isBound = claims.cnf !== undefined
    const [actor] = actorsOf(claims)
    if (actor) {
      this.actor = actor.sub
      this.delegation = actor
    }
    this.#claims = claims
    this.#server = server
  }

  get signIn(): TokenSignIn {
    const { aud, acr, auth_time } = this.#claims
    return { aud, ...(acr === undefined ? {} : { acr }), ...(auth_time === undefined ? {} : { auth_time }) }
  }

  signInRefusal(ability: string): HttpError | null {
    if (!this.user) return null
    const { guard } = this.#server.config.current()
    const needs = guard.step_up.filter((need) => need.ability === ability)
    return signInRefusal(this.#claims, needs, this.#server.clock.now())
  }

  can(ability: string): boolean {
    return grants(this.abilities, ability)
  }

  cant(ability: string): boolean {
    return !this.can(ability)
  }

  /** Revokes the token on every replica. */
  async revoke({ app, origin }: Act): Promise<void> {
    const jti = this.credentialId
    const userId = this.user?.id ?? null
    await app.database.transaction(async (tx) => {
      await denyToken(tx, jti, this.expiresAt + 60_000)
      const isPersonal = userId !== null && (await deletePersonalToken(tx, userId, jti))
      const type = isPersonal ? 'personal_token_revoked' : 'token_revoked'
      await recordEvent(tx, origin, { type, userId, data: { token_id: jti } })
    })
  }
}

/** Authenticates JWTs that svc issued for its own API, or for the one of the guard's rule (RFC 9068 section 4). */
export const oauthBearer =
  (oauthServer: OAuthServer): BearerChecks['jwt'] =>
  async (bearer, { server }, audience) => {
    const live = await findFor(oauthServer, bearer, server, audience)
    // A token that is bound to a key is not accepted as a bearer token (RFC 9449 section 7.2).
    if (live?.claims.cnf) throw boundRefusal('invalid_token')
    return live && new JwtCaller(server, live)
  }

/** Authenticates tokens with the scheme `DPoP` and a proof of possession. */
export const oauthBound =
  (oauthServer: OAuthServer): BoundCheck =>
  async (token, request, { target, audience }) => {
    const live = await findFor(oauthServer, token, request.server, audience)
    if (!live?.claims.cnf?.jkt) throw boundRefusal('invalid_token')
    await requireProof(request, { token, thumbprint: live.claims.cnf.jkt, target })
    return new JwtCaller(request.server, live)
  }

/** Valid token for svc's own API, or for another audience that the endpoint accepts; null for any other. */
async function findFor(oauthServer: OAuthServer, token: string, { config, log }: FastifyInstance, other?: string) {
  const live = await oauthServer.findLive(token)
  if (!live) return null
  const audiences = [config.current().oauth.audience, ...(other === undefined ? [] : [other])]
  const { aud, client_id } = live.claims
  if (audiences.includes(aud)) return live
  const message = `it is for ${aud}, and this endpoint accepts ${audiences.join(' and ')}`
  const key = 'guard.rules[].audience, or the scopes and the resource that the client requests'
  logAdvice(log, `Access token refused (client ${client_id})`, { message, key }, { client: client_id, audience: aud })
  return null
}
