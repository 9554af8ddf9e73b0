import type Provider from 'oidc-provider'
import type { Config } from '../../../config/schema.ts'
import type { User } from '../../../users/user.ts'
import type { RegisteredClient, Registry } from './clients.ts'

/** The claims that each scope opens (OpenID Connect Core section 5.4). */
export const claimsByScope = {
  openid: ['sub', 'acr', 'amr'],
  profile: ['name', 'preferred_username', 'updated_at'],
  email: ['email', 'email_verified'],
  roles: ['roles', 'groups'],
}

/** The scope that opens a claim, apart from `openid`. */
export const scopeOfClaim = (claim: string): string | undefined =>
  Object.entries(claimsByScope).find(([scope, claims]) => scope !== 'openid' && claims.includes(claim))?.[0]

/**
 * Everything svc can tell a client about a user; the library keeps what was granted. `preferred_username` is the
 * verified address for a client that may see it, and else the subject: users choose their names freely, and some
 * clients look accounts up by this claim. The role is for clients that list the scope `roles`.
 */
export function claimsOf(user: User, client: RegisteredClient | undefined, scope: string) {
  const sub = String(user.id)
  const isVerified = user.email_verified_at !== null
  const roles = client?.scopes.includes('roles') ? [user.role] : undefined
  return {
    sub,
    name: user.name,
    preferred_username: isVerified && scope.split(' ').includes('email') ? user.email : sub,
    updated_at: Math.floor(Date.parse(user.updated_at) / 1000),
    email: user.email,
    email_verified: isVerified,
    roles,
    groups: roles,
  }
}

type IdToken = InstanceType<Provider['IdToken']> & { scope?: string; client: { clientId: string } }

/** Leaves the claims of scopes out of the ID tokens of clients that are configured so; UserInfo serves them. */
export function limitIdTokenClaims(provider: Provider, config: Config, registry: Registry): void {
  const { prototype } = provider.IdToken
  const { issue } = prototype
  if (typeof issue !== 'function') throw new Error('The OAuth library issues ID tokens elsewhere.')
  prototype.issue = function issueLimited(this: IdToken, options: Parameters<typeof issue>[0]) {
    const carriesClaims = registry.client(this.client.clientId)?.id_token_claims ?? config.oauth.id_token_claims
    if (options.use === 'idtoken' && !carriesClaims) this.scope = 'openid'
    return issue.call(this, options)
  }
}
