import { scopeText } from '../../../platform/config/own-messages.ts'
import type { Config } from '../../../platform/config/schema.ts'
import { managementScopes } from '../../../platform/config/sections/admin.ts'
import type { UserClaim } from '../../../platform/config/sections/user-claims.ts'
import { textsIn } from '../../../platform/http/texts.ts'
import type { Language } from '../../../platform/languages/languages.ts'

/** OpenID Connect scopes that every client may request. */
export const openidScopes = ['openid', 'profile', 'email', 'offline_access'] as const

/** Scopes about the user that only clients which list them can get. */
const listedScopes = ['roles', 'groups'] as const

/** Scopes besides those of APIs. */
export const servedScopes = [...openidScopes, ...listedScopes] as const

/** Scopes about the user that a client can get, apart from APIs. */
export const identityScopes = (listed: readonly string[]): string[] => [
  ...openidScopes,
  ...listedScopes.filter((scope) => listed.includes(scope)),
]

/** All scopes of `scopes` and `apis`. */
export const registeredScopes = ({ scopes, apis }: Config): Set<string> =>
  new Set([...Object.keys(scopes), ...Object.values(apis).flatMap((api) => api.scopes)])

/** All scopes that clients may name; svc ignores others (OpenID Connect Core section 3.1.2.1). */
export const knownScopes = (config: Config): Set<string> =>
  new Set([...servedScopes, ...managementScopes, ...registeredScopes(config)])

const scopeList = /^[\x21\x23-\x5B\x5D-\x7E]+(?: [\x21\x23-\x5B\x5D-\x7E]+)*$/

/** Tests for a list of scopes (RFC 6749 section 3.3). */
export const isScopeList = (text: string): boolean => scopeList.test(text)

/** Scopes of `scopes` that belong to no API, with their descriptions. */
export const ownScopes = ({ scopes, apis }: Config): [name: string, description: string][] => {
  const taken = new Set(Object.values(apis).flatMap((api) => api.scopes))
  return Object.entries(scopes).filter(([name]) => !taken.has(name))
}

const isServed = (name: string): name is (typeof servedScopes)[number] =>
  (servedScopes as readonly string[]).includes(name)

/** Returns what a scope allows, in words for users: translated by svc or by the operator, otherwise as in `scopes`. */
export function describeScope(config: Config, name: string, language: Language): string {
  if (isServed(name)) return textsIn(config, language)(`scope.${name}`)
  return config.i18n.messages[language]?.[scopeText(name)] ?? (config.scopes[name] || name)
}

/** Sorts permissions as pages list them: those of svc, then those of `scopes` and `apis` as in the configuration. */
export function inPageOrder(config: Config, names: Iterable<string>): string[] {
  const order = [...servedScopes, ...registeredScopes(config)]
  const rank = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length)
  return [...new Set(names)].toSorted((one, other) => rank(one) - rank(other) || (one < other ? -1 : 1))
}

/** Claims of every configuration by scope. */
const standardClaims: Readonly<Record<string, readonly string[]>> = {
  openid: ['sub', 'acr', 'amr'],
  profile: ['name', 'preferred_username', 'given_name', 'family_name', 'picture', 'updated_at'],
  email: ['email', 'email_verified'],
  roles: ['roles'],
  groups: ['groups'],
}

/** Claims by scope (OpenID Connect Core section 5.4), with those of the fields of users, and those of the section `claims`. */
export const claimsByScope = ({ users, claims }: Pick<Config, 'users' | 'claims'>): Record<string, string[]> => {
  const composed = claims.map(({ claim }) => ({ claim, scope: 'openid' }))
  const added = [...Object.values(users.fields), ...composed]
  return Object.fromEntries(
    Object.entries(standardClaims).map(([scope, names]) => [
      scope,
      [...names, ...added.flatMap((field) => (field.claim !== null && field.scope === scope ? [field.claim] : []))],
    ]),
  )
}

/** Scope that describes a claim which the configuration adds to tokens. */
export const scopeOfUserClaim = (claim: UserClaim): string =>
  claim === 'role' ? 'roles' : (scopeIn(standardClaims, claim) ?? claim)

/** Scope that grants a claim, apart from `openid`. */
export const scopeIn = (byScope: Readonly<Record<string, readonly string[]>>, claim: string): string | undefined =>
  Object.entries(byScope).find(([scope, claims]) => scope !== 'openid' && claims.includes(claim))?.[0]
