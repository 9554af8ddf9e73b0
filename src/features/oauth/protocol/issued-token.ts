import type { KoaContextWithOIDC } from 'oidc-provider'
import type { Act } from '../access-token.ts'
import { resourceServer } from '../clients/choose-target.ts'
import type { Target } from '../clients/targets.ts'

/** How and when the user signed in (RFC 9068 section 2.2.1). */
interface AuthenticationClaims {
  acr?: string | undefined
  auth_time?: number | undefined
}

interface TokenFacts {
  target: Target
  accountId: string
  grantId: string | undefined
  gty: string
  scopes: readonly string[]
  authentication: AuthenticationClaims
  /** `jti` of the access tokens that it was exchanged for, the latest first. */
  subjects?: readonly string[]
  /** Maximum end, in unix seconds. */
  until?: number
  act?: Act | undefined
}

interface OriginClaims extends AuthenticationClaims {
  subject_jti?: string | readonly string[]
  act?: Act | undefined
}

/** Origin of the tokens that requests are issuing. */
const origins = new WeakMap<object, OriginClaims>()

/** Claims of a user's access token that come from the sign-in or from the exchanged token. */
export function originClaims({ oidc }: KoaContextWithOIDC, token: object): OriginClaims {
  const { RefreshToken, AuthorizationCode, DeviceCode } = oidc.entities
  const source = RefreshToken ?? AuthorizationCode ?? DeviceCode
  return origins.get(token) ?? { acr: source?.acr, auth_time: source?.authTime }
}

/** Access token of a user for the requesting client, and its lifetime in seconds. */
export async function issueToken(
  ctx: KoaContextWithOIDC,
  {
    target,
    accountId,
    grantId,
    gty,
    scopes,
    authentication,
    subjects = [],
    until = Number.POSITIVE_INFINITY,
    act,
  }: TokenFacts,
): Promise<{ access_token: string; expires_in: number; token_type: string }> {
  const { provider, client } = ctx.oidc
  const { AccessToken, ResourceServer } = provider
  const info = resourceServer(target)
  const iat = Math.floor(Date.now() / 1000)
  const exp = Math.min(iat + (info.accessTokenTTL ?? 0), until)
  const scope = scopes.join(' ') || undefined
  const token = new AccessToken({ accountId, client, grantId, gty, scope, iat, exp } as never)
  const { acr, auth_time } = authentication
  const [subject, ...earlier] = subjects
  const subject_jti = earlier.length > 0 ? subjects : subject
  origins.set(token, { acr, auth_time, act, ...(subject_jti === undefined ? {} : { subject_jti }) })
  token.resourceServer = new ResourceServer(target.resource, info) as never
  return { access_token: await token.save(), expires_in: exp - iat, token_type: token.tokenType }
}
