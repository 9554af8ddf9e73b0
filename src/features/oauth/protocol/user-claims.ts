import type { Lookups } from '../../../auth/access/lookups/lookups.ts'
import { claimsAbout, composedClaims } from '../../../identity/claims.ts'
import type { User } from '../../../identity/user.ts'
import type { Config } from '../../../platform/config/schema.ts'
import type { UserClaim } from '../../../platform/config/sections/user-claims.ts'
import type { Registry } from '../clients/clients.ts'
import { claimsFor, type Target } from '../clients/targets.ts'

export interface ClaimParts {
  config: Pick<Config, 'groups' | 'claims'>
  registry: Registry
  lookups: Pick<Lookups, 'user'>
}

interface TokenFacts {
  clientId?: string | undefined
  aud?: unknown
  scopes: ReadonlySet<string>
}

interface IssuedToken extends TokenFacts {
  accountId?: string | undefined
}

const targetOf = (registry: Registry, { clientId, aud }: Pick<TokenFacts, 'clientId' | 'aud'>): Target | undefined =>
  registry.targets(clientId).find(({ audience }) => audience === aud)

/** Names of the claims in a token of a target with these scopes: those of the configuration, and the groups. */
function namesFor(target: Target, scopes: ReadonlySet<string>): readonly UserClaim[] {
  const names = claimsFor(target, scopes)
  return scopes.has('groups') ? [...new Set([...names, 'groups' as const])] : names
}

function mayHaveClaims(config: ClaimParts['config'], registry: Registry, token: TokenFacts): boolean {
  const target = targetOf(registry, token)
  return target !== undefined && (config.claims.length > 0 || namesFor(target, token.scopes).length > 0)
}

/** The claims about a user in a client's access token with this audience and these scopes. */
export function accessTokenClaims(
  user: User,
  config: ClaimParts['config'],
  registry: Registry,
  { clientId, aud, scopes }: TokenFacts,
): Record<string, unknown> {
  const target = targetOf(registry, { clientId, aud })
  if (!target) return {}
  return {
    ...claimsAbout(user, config, namesFor(target, scopes)),
    ...claimsOfApi(user, config, target, { clientId, scopes }),
  }
}

/** The claims that the configuration composes for an API. Like others, they need a scope of the API. */
export const claimsOfApi = (
  user: User,
  config: ClaimParts['config'],
  { name, scopes: own }: Pick<Target, 'name' | 'scopes'>,
  { clientId, scopes }: Pick<TokenFacts, 'clientId' | 'scopes'>,
): Record<string, unknown> =>
  name !== null && own.some((scope) => scopes.has(scope))
    ? composedClaims(user, config, { client: clientId, api: name })
    : {}

/** These claims, for a token that is being issued. */
export async function userClaims({ config, registry, lookups }: ClaimParts, token: IssuedToken): Promise<object> {
  // Most tokens have no such claims, and need no look-up of the user.
  if (token.accountId === undefined || !mayHaveClaims(config, registry, token)) return {}
  const user = await lookups.user(BigInt(token.accountId))
  return user ? accessTokenClaims(user, config, registry, token) : {}
}
