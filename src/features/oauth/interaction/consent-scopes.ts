import type { Config } from '../../../config/schema.ts'
import type { UserClaim } from '../../../config/sections/user-claims.ts'
import type { TextLookup } from '../../../http/texts.ts'
import { scopeOfClaim } from '../protocol/claims.ts'
import type { Registry } from '../protocol/clients.ts'
import type { InteractionDetails as Details } from '../protocol/oauth-server.ts'
import { describeScope } from '../protocol/scopes.ts'
import { claimsFor, namedTargets } from '../protocol/targets.ts'

/** Scopes that an authorization requests. */
export const scopesOf = ({ params: { scope } }: Details): string[] =>
  typeof scope === 'string' ? [...new Set(scope.split(' ').filter((name) => name !== ''))] : []

/** What the consent page lists: the requested scopes, and scopes that describe claims which the client receives. */
export function consentScopes(details: Details, config: Config, registry: Registry, text: TextLookup) {
  const names = new Set([...scopesOf(details), ...askedClaims(details, registry), ...sentClaims(details, registry)])
  return [...names].map((name) => ({ name, description: describeScope(config, name, text) }))
}

/** Scopes for individually requested claims (OpenID Connect Core section 5.4). */
function askedClaims({ params, prompt }: Details, registry: Registry): string[] {
  const { missingOIDCClaims: claims } = prompt.details
  const asked: unknown[] = Array.isArray(claims) ? claims : []
  const mayReadRole = registry.client(String(params.client_id))?.scopes.includes('roles')
  return asked.flatMap((claim) => scopeOfClaim(String(claim)) ?? []).filter((scope) => scope !== 'roles' || mayReadRole)
}

/** Scopes for the claims that the configuration adds to the client's tokens. Clients can read access tokens. */
function sentClaims(details: Details, registry: Registry): string[] {
  const { client_id, resource } = details.params
  const asked = new Set(scopesOf(details))
  const inIdTokens = asked.has('openid') ? (registry.client(String(client_id))?.claims ?? []) : []
  const targets = namedTargets(registry.targets(String(client_id)), resource)
  const names: UserClaim[] = [...inIdTokens, ...targets.flatMap((target) => claimsFor(target, asked))]
  return names.map((name) => (name === 'role' ? 'roles' : (scopeOfClaim(name) ?? name)))
}
