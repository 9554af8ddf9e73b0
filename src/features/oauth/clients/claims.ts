import { composedClaims } from '../../../identity/claims.ts'
import { fieldClaims } from '../../../identity/fields.ts'
import { groupsOf } from '../../../identity/groups.ts'
import type { User } from '../../../identity/user.ts'
import type { Config } from '../../../platform/config/schema.ts'
import type { Registry } from './clients.ts'
import { identityScopes } from './scopes.ts'

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Tests whether a client may ask for a claim on its own: one that nobody registered only with a scope that it can get. */
const mayAskFor = (registry: Registry, clientId: string | undefined) => (claim: string) => {
  const scope = registry.scopeOfClaim(claim)
  const isLimited = scope !== undefined && registry.isDocument(clientId)
  const isServed = claim === 'auth_time' || Object.values(registry.claimsByScope).flat().includes(claim)
  return isServed && !(isLimited && !registry.documents.scopes.includes(scope))
}

/**
 * Returns a `claims` parameter without the members that svc does not know or the client may not ask for; undefined if none is
 * left (OpenID Connect Core section 5.5). Returns malformed text unchanged, which the library rejects.
 */
export function settledClaims(text: string, registry: Registry, clientId: string | undefined): string | undefined {
  let claims: unknown
  try {
    claims = JSON.parse(text)
  } catch {
    return text
  }
  if (!isObject(claims)) return text
  const members = Object.entries(claims).filter(([name]) => name === 'userinfo' || name === 'id_token')
  const isKnown = mayAskFor(registry, clientId)
  const known = members.map(([name, asked]) => [
    name,
    isObject(asked) ? Object.fromEntries(Object.entries(asked).filter(([claim]) => isKnown(claim))) : asked,
  ])
  return known.length === 0 ? undefined : JSON.stringify(Object.fromEntries(known))
}

/** All claims about a user; the library filters them by the granted scopes. Roles, groups and their fields are for clients that list the scope. */
export function claimsOf(
  user: User,
  config: Pick<Config, 'groups' | 'users' | 'claims'>,
  registry: Registry,
  clientId: string | undefined,
) {
  const isVerified = user.email_verified_at !== null
  const listed = registry.listedScopes(clientId)
  return {
    ...fieldClaims(config, user.fields, identityScopes(listed)),
    ...composedClaims(user, config, { client: clientId, api: null }),
    sub: String(user.id),
    name: user.name,
    preferred_username: user.username,
    given_name: user.given_name,
    family_name: user.family_name,
    picture: user.picture,
    updated_at: Math.floor(Date.parse(user.updated_at) / 1000),
    email: user.email,
    email_verified: isVerified,
    roles: listed.includes('roles') ? [user.role] : undefined,
    groups: listed.includes('groups') ? groupsOf(user, config) : undefined,
  }
}

/**
 * Claims for an ID token. A client that reads claims from UserInfo gets only those that the `claims` parameter requested,
 * and those that the configuration composes for it.
 */
export function idTokenClaimsOf(
  config: Config,
  user: User,
  registry: Registry,
  clientId: string | undefined,
  asked: object = {},
) {
  const all = claimsOf(user, config, registry, clientId)
  if (registry.client(clientId)?.id_token_claims ?? config.oauth.id_token_claims) return all
  const composed = composedClaims(user, config, { client: clientId, api: null })
  return { ...Object.fromEntries(Object.entries(all).filter(([name]) => name in asked)), ...composed, sub: all.sub }
}
