import type { FastifyInstance } from 'fastify'
import type Provider from 'oidc-provider'
import { isJwt } from '../../../../auth/access/bearer-token.ts'
import { mustVerifyAddress } from '../../../../auth/access/verified-address.ts'
import { abilitiesOf, type LiveApiToken, liveToken, noteUse } from '../../../../auth/tokens/bearer.ts'
import { groupsOf } from '../../../../identity/groups.ts'
import type { User } from '../../../../identity/user.ts'
import type { AccessTokenClaims } from '../../access-token.ts'
import type { LiveToken } from '../../alive.ts'
import type { RegisteredClient, Registry } from '../../clients/clients.ts'
import type { AskedTokens } from '../browser.ts'
import { accessTokenClaims } from '../user-claims.ts'

interface IntrospectionParts {
  app: FastifyInstance
  registry: Registry
  provider: Provider
  /** Claims of an unexpired access token of svc, from its signature alone. */
  claimsOf(token: string): Promise<AccessTokenClaims | null>
  /** The token of these claims; null if it ended. */
  activeOf(claims: AccessTokenClaims): Promise<LiveToken | null>
  /** Tests whether svc accepts tokens of a client. */
  accepts(clientId: string): Promise<boolean>
}

/** State of a token (RFC 7662 section 2.2). */
type TokenState = { active: false } | ({ active: true } & Record<string, unknown>)

/** Response to an introspection request. */
interface IntrospectionResponse {
  status: 200 | 400
  body: object
}

const inactive: TokenState = { active: false }

const needsSecret = {
  error: 'unauthorized_client',
  error_description: 'A public client may send one token, in the parameter token.',
}

/** Scope (RFC 6749 section 3.3). An ability may contain other characters: with a space, it would read as two scopes. */
const scopeName = /^[\x21\x23-\x5B\x5D-\x7E]+$/

const scopeOf = (abilities: readonly string[]): string | undefined =>
  abilities.filter((ability) => scopeName.test(ability)).join(' ') || undefined

/**
 * Answers introspection requests. All tokens of a request share the batched lookups of the guard, so a list costs as
 * many queries as its slowest token.
 */
export class Introspection {
  readonly #parts: IntrospectionParts

  constructor(parts: IntrospectionParts) {
    this.#parts = parts
  }

  /** Response to an authenticated client. The clients of svc itself make no requests, so they see no token. */
  async answer(client: RegisteredClient | undefined, asked: AskedTokens): Promise<IntrospectionResponse> {
    if ('error' in asked) {
      return { status: 400, body: { error: 'invalid_request', error_description: asked.error } }
    }
    const { texts, isList } = asked
    // Each token may cost a signature check, and a public client proves nothing.
    if (isList && client?.type === 'public') return { status: 400, body: needsSecret }
    const states = client ? await this.#statesOf(client, texts) : texts.map(() => inactive)
    return { status: 200, body: isList ? { tokens: states } : (states[0] ?? inactive) }
  }

  async #statesOf(client: RegisteredClient, texts: readonly string[]): Promise<TokenState[]> {
    const { claimsOf } = this.#parts
    // All signatures first: they take different times, and lookups share a query only if they begin together.
    const claims = await Promise.all(texts.map((text) => (isJwt(text) ? claimsOf(text) : null)))
    return Promise.all(
      texts.map((text, index) => (isJwt(text) ? this.#jwt(client, claims[index] ?? null) : this.#opaque(client, text))),
    )
  }

  async #jwt(client: RegisteredClient, claims: AccessTokenClaims | null): Promise<TokenState> {
    if (!claims || !isVisible(client, claims.client_id)) return inactive
    const live = await this.#parts.activeOf(claims)
    if (!live) return inactive
    const { sub, client_id, scope, scopes, aud, iss, exp, iat, jti, gty, acr, auth_time, cnf, act } = claims
    const abilities = scope?.split(' ') ?? []
    const config = this.#parts.app.config.current()
    const { name, role, ...claimed } = live.user
      ? accessTokenClaims(live.user, config, this.#parts.registry, {
          clientId: client_id,
          aud,
          scopes: new Set(abilities),
        })
      : {}
    return stateOf({
      // For the same readers as the role. The scope `groups` adds them for others.
      ...(mayReadUser(client) && live.user ? { groups: groupsOf(live.user, config) } : {}),
      ...claimed,
      ...{ sub, client_id, scope, scopes, aud, iss, exp, iat, jti, gty, acr, auth_time, cnf, act },
      abilities,
      role: role ?? roleFor(client, live.user, abilities),
      // The name of a personal access token.
      name: live.name ?? name,
      token_type: cnf ? 'DPoP' : 'Bearer',
    })
  }

  async #opaque(client: RegisteredClient, text: string): Promise<TokenState> {
    // API tokens belong to no client.
    const [found, refresh] = await Promise.all([
      client.introspect ? liveToken(text, this.#parts.app) : null,
      text.includes('|') ? null : this.#refreshToken(client, text),
    ])
    if (mustVerifyAddress(this.#parts.app.config.current(), found?.user)) return inactive
    return found ? this.#apiToken(found) : (refresh ?? inactive)
  }

  #apiToken({ row, user, createdAt, expiresAt }: LiveApiToken): TokenState {
    const { app } = this.#parts
    noteUse(app, row)
    const abilities = abilitiesOf(row, user, app.config.current())
    return stateOf({
      sub: String(user.id),
      scope: scopeOf(abilities),
      scopes: abilities,
      abilities,
      role: user.role,
      groups: groupsOf(user, app.config.current()),
      token_id: Number(row.id),
      name: row.name,
      iss: app.config.current().app.url,
      exp: expiresAt === null ? undefined : Math.floor(expiresAt / 1000),
      iat: createdAt === null ? undefined : Math.floor(createdAt / 1000),
      jti: String(row.id),
      cnf: row.keyThumbprint === null ? undefined : { jkt: row.keyThumbprint },
      token_type: row.keyThumbprint === null ? 'Bearer' : 'DPoP',
    })
  }

  /** State of a refresh token, without abilities and `token_type`: no API may accept it. */
  async #refreshToken(client: RegisteredClient, text: string): Promise<TokenState | null> {
    const { provider, app } = this.#parts
    const token = await provider.RefreshToken.find(text)
    if (!token?.isValid || !isVisible(client, token.clientId)) return null
    if (!(await this.#parts.accepts(token.clientId ?? ''))) return null
    const { accountId = '', clientId, grantId = '', scope, exp, iat, sid, jkt } = token
    const [user, grant] = await Promise.all([
      app.lookups.user(BigInt(accountId)),
      provider.Grant.find(grantId, { ignoreExpiration: true }),
    ])
    if (!user || user.disabled || !grant || grant.isExpired) return null
    if (grant.clientId !== clientId || grant.accountId !== accountId) return null
    const cnf = jkt === undefined ? undefined : { jkt }
    return stateOf({ sub: accountId, client_id: clientId, scope, exp, iat, sid, iss: provider.issuer, cnf })
  }
}

/** Tests whether a client may introspect the tokens of a client. */
const isVisible = (client: RegisteredClient, owner: string | undefined): boolean =>
  client.introspect || client.client_id === owner

/** Tests for APIs, and for clients that may read the user at `GET /api/user`. */
const mayReadUser = ({ introspect, first_party }: RegisteredClient): boolean => introspect || first_party

/** The user's role, for APIs and for clients that may read it at `GET /api/user`. */
const roleFor = (client: RegisteredClient, user: User | null, scopes: readonly string[]): string | undefined =>
  mayReadUser(client) || scopes.includes('roles') ? user?.role : undefined

/** JSON leaves out undefined members. */
const stateOf = (members: Record<string, unknown>): TokenState => ({ active: true, ...members })
