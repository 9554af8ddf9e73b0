import type { Config } from '../../../platform/config/schema.ts'
import type { UserClaim } from '../../../platform/config/sections/user-claims.ts'
import type { Language } from '../../../platform/languages/languages.ts'
import type { Registry } from '../clients/clients.ts'
import { describeScope, identityScopes, inPageOrder, scopeOfUserClaim } from '../clients/scopes.ts'
import { claimsFor, namedTargets } from '../clients/targets.ts'
import type { InteractionDetails as Details } from '../protocol/oauth-server.ts'

/** Scopes that an authorization requests. */
export const scopesOf = ({ params: { scope } }: Details): string[] =>
  typeof scope === 'string' ? [...new Set(scope.split(' ').filter((name) => name !== ''))] : []

/** What the consent page lists: the requested scopes, and scopes that describe claims which the client receives. */
export function consentScopes(details: Details, config: Config, registry: Registry, language: Language) {
  const names = new Set([...scopesOf(details), ...askedClaims(details, registry), ...sentClaims(details, registry)])
  return inPageOrder(config, names).map((name) => ({ name, description: describeScope(config, name, language) }))
}

/** Scopes for individually requested claims (OpenID Connect Core section 5.4). */
function askedClaims({ params, prompt }: Details, registry: Registry): string[] {
  const { missingOIDCClaims: claims } = prompt.details
  const asked: unknown[] = Array.isArray(claims) ? claims : []
  const mayGet = identityScopes(registry.listedScopes(String(params.client_id)))
  return asked.flatMap((claim) => registry.scopeOfClaim(String(claim)) ?? []).filter((scope) => mayGet.includes(scope))
}

/** Scopes for the claims that the configuration adds to the client's tokens. Clients can read access tokens. */
function sentClaims(details: Details, registry: Registry): string[] {
  const { client_id, resource } = details.params
  const asked = new Set(scopesOf(details))
  const inIdTokens = asked.has('openid') ? (registry.client(String(client_id))?.claims ?? []) : []
  const targets = namedTargets(registry.targets(String(client_id)), resource)
  return scopesOfClaims([...inIdTokens, ...targets.flatMap((target) => claimsFor(target, asked))])
}

const scopesOfClaims = (names: readonly UserClaim[]): string[] => names.map(scopeOfUserClaim)

/** What a user allowed a client, as the consent page listed it: the granted scopes, and scopes that describe claims. */
export function grantedPermissions(
  clientId: string,
  { scopes, claims }: { scopes: readonly string[]; claims: readonly string[] },
  registry: Registry,
): string[] {
  const granted = new Set(scopes)
  const inIdTokens = granted.has('openid') ? (registry.client(clientId)?.claims ?? []) : []
  // Tokens for the default audience need no scope; those for an API do.
  const targets = registry
    .targets(clientId)
    .filter(({ name, scopes }) => name === null || scopes.some((scope) => granted.has(scope)))
  return [
    ...scopes,
    ...claims.flatMap((claim) => registry.scopeOfClaim(claim) ?? []),
    ...scopesOfClaims([...inIdTokens, ...targets.flatMap((target) => claimsFor(target, granted))]),
  ]
}
