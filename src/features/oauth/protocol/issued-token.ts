import type { KoaContextWithOIDC } from 'oidc-provider'
import type { Config } from '../../../config/schema.ts'
import { audienceOf, resourceOf } from './audience.ts'
import type { Registry } from './clients.ts'
import { resourceServer } from './scopes.ts'

interface TokenFacts {
  accountId: string
  grantId: string | undefined
  gty: string
  scopes: readonly string[]
  /** The `jti` of the token that it is exchanged for. */
  subjectJti?: string
  /** The latest time at which it may end, in unix seconds. */
  until?: number
}

/** The tokens that were exchanged for the ones under way. */
const subjects = new WeakMap<object, string>()

/** The claims of an access token that was exchanged for another one. */
export function subjectClaims(token: object): { subject_jti?: string } {
  const jti = subjects.get(token)
  return jti === undefined ? {} : { subject_jti: jti }
}

/** A user's access token for the requesting client, for that client's audience, and in how many seconds it ends. */
export async function issueToken(
  ctx: KoaContextWithOIDC,
  config: Config,
  registry: Registry,
  { accountId, grantId, gty, scopes, subjectJti, until = Number.POSITIVE_INFINITY }: TokenFacts,
): Promise<{ access_token: string; expires_in: number; token_type: string }> {
  const { provider, client } = ctx.oidc
  const registered = registry.client(client?.clientId)
  const { AccessToken, ResourceServer } = provider
  const info = resourceServer(config, registered, registered?.scopes ?? [])
  const iat = Math.floor(Date.now() / 1000)
  const exp = Math.min(iat + (info.accessTokenTTL ?? 0), until)
  const scope = scopes.join(' ') || undefined
  const token = new AccessToken({ accountId, client, grantId, gty, scope, iat, exp } as never)
  if (subjectJti !== undefined) subjects.set(token, subjectJti)
  token.resourceServer = new ResourceServer(resourceOf(audienceOf(config, registered)), info) as never
  return { access_token: await token.save(), expires_in: exp - iat, token_type: token.tokenType }
}
