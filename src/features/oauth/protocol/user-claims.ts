import type { Lookups } from '../../../auth/access/lookups/lookups.ts'
import { claimsAbout } from '../../../identity/claims.ts'
import type { Config } from '../../../platform/config/schema.ts'
import type { UserClaim } from '../../../platform/config/sections/user-claims.ts'
import type { Registry } from '../clients/clients.ts'
import { claimsFor } from '../clients/targets.ts'

export interface ClaimParts {
  config: Pick<Config, 'groups'>
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

/** Names of the claims in a client's access token with this audience and these scopes: those of the configuration, and the groups. */
export function claimNames(registry: Registry, { clientId, aud, scopes }: TokenFacts): readonly UserClaim[] {
  const target = registry.targets(clientId).find(({ audience }) => audience === aud)
  if (!target) return []
  const names = claimsFor(target, scopes)
  return scopes.has('groups') ? [...new Set([...names, 'groups' as const])] : names
}

/** These claims with their values. */
export async function userClaims({ config, registry, lookups }: ClaimParts, token: IssuedToken): Promise<object> {
  const names = claimNames(registry, token)
  if (names.length === 0 || token.accountId === undefined) return {}
  const user = await lookups.user(BigInt(token.accountId))
  return user ? claimsAbout(user, config, names) : {}
}
