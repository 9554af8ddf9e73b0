import Provider from 'oidc-provider'
import { sha256Hex } from '../../../crypto/hash.ts'
import type { MacKey } from '../../../crypto/mac.ts'
import type { AccessTokenClaims } from '../access-token.ts'
import type { RecordStore } from './store.ts'
import { recordId } from './store.ts'

/** What the token models ask of svc. */
export interface TokenParts {
  store: RecordStore
  /** The claims of a live access token that svc signed; null for any other. */
  findLive(token: string): Promise<AccessTokenClaims | null>
  /** Makes a refresh token's successor from it: the same on every replica. */
  successorKey: MacKey
}

/** Hides a JWT from the library's refusal of structured tokens, on the two routes that may take one. */
const hidden = '~'

/**
 * Lets the library's models find, introspect and revoke the JWTs that svc issued without storing them.
 * Each override has a test of its own: an upgrade of the library cannot take one back silently.
 */
export function adaptTokenModels(provider: Provider, { store, findLive, successorKey }: TokenParts): void {
  const { AccessToken, ClientCredentials, RefreshToken, OIDCContext, ReplayDetection } = provider

  // The audience goes into the JWT alone: on the model it would bar the token from the userinfo endpoint.
  AccessToken.prototype.setAudience = () => {}
  ClientCredentials.prototype.setAudience = () => {}

  const payloadOf = (claims: AccessTokenClaims) => ({
    jti: claims.jti,
    iat: claims.iat,
    exp: claims.exp,
    clientId: claims.client_id,
    scope: claims.scope,
    jkt: claims.cnf?.jkt,
    extra: { scopes: claims.scopes, ...(claims.gty ? { gty: claims.gty } : {}) },
    // Only where it is shown: at the userinfo endpoint the library takes an audience for somebody else's token.
    ...(currentRoute() === 'introspection' ? { aud: claims.aud } : {}),
  })
  const isMachine = (claims: AccessTokenClaims): boolean => claims.gty === 'client_credentials'

  override(AccessToken, 'find', async (value: string) => {
    const claims = await findLive(unhidden(value))
    if (!claims || isMachine(claims)) return undefined
    return new AccessToken({ ...payloadOf(claims), accountId: claims.sub, grantId: claims.gid } as never)
  })
  override(ClientCredentials, 'find', async (value: string) => {
    const claims = await findLive(unhidden(value))
    return claims && isMachine(claims) ? new ClientCredentials(payloadOf(claims) as never) : undefined
  })
  for (const model of [AccessToken, ClientCredentials]) {
    // Nothing of these is stored: what is written is that one of them counts no more.
    model.prototype.destroy = async function deny(this: { jti: string; exp?: number }) {
      await store.deny(this.jti, ((this.exp ?? 0) + 60) * 1000)
    }
  }
  const entity = OIDCContext.prototype.entity
  OIDCContext.prototype.entity = function noteEntity(key: string, value: never) {
    entity.call(this, key, value)
    const { route, params } = this as { route: string; params?: { token?: unknown } }
    if (
      key === 'Client' &&
      params &&
      typeof params.token === 'string' &&
      (route === 'introspection' || route === 'revocation')
    ) {
      params.token = hidden + params.token
    }
  }
  const findRefresh = RefreshToken.find.bind(RefreshToken)
  override(RefreshToken, 'find', (value: string, options: object) => findRefresh(unhidden(value), options))

  const newId: unknown = Reflect.get(RefreshToken.prototype, 'generateTokenId')
  override(RefreshToken.prototype, 'generateTokenId', function successorOrNew(this: object) {
    const rotated = Provider.ctx?.oidc.entities.RotatedRefreshToken
    if (rotated?.jti) return successorKey.sign(`refresh\0${rotated.jti}`)
    return typeof newId === 'function' ? newId.call(this) : undefined
  })

  ReplayDetection.unique = async (iss: string, jti: string, exp: number) => {
    const id = recordId('ReplayDetection', sha256Hex(`${iss}\0${jti}`))
    const rest = { grantHash: null, codeHash: null, uidHash: null, userId: null, sessionId: null }
    return store.insert({ id, kind: 'ReplayDetection', payload: '{}', ...rest, expiresAt: (exp + 60) * 1000 })
  }

  function currentRoute(): string | undefined {
    return Provider.ctx?.oidc.route
  }

  function unhidden(value: string): string {
    return value.startsWith(hidden) ? value.slice(hidden.length) : value
  }
}

/** Replaces a method of the library that its types do not know, or know as generic. */
function override(target: object, name: string, method: (...args: never[]) => unknown): void {
  if (typeof Reflect.get(target, name) !== 'function') throw new Error(`The OAuth library has no ${name} any more.`)
  Reflect.set(target, name, method)
}
