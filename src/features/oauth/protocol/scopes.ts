import type { Config } from '../../../config/schema.ts'

/** OpenID Connect scopes that every client may request. */
export const openidScopes = ['openid', 'profile', 'email', 'offline_access'] as const

/** Scopes besides those of APIs. `roles` is only for clients that list it. */
export const servedScopes = [...openidScopes, 'roles'] as const

/** All scopes of `scopes` and `apis`. */
export const registeredScopes = ({ scopes, apis }: Config): Set<string> =>
  new Set([...Object.keys(scopes), ...Object.values(apis).flatMap((api) => api.scopes)])

/** Scopes of `scopes` that belong to no API, with their descriptions. */
export const ownScopes = ({ scopes, apis }: Config): [name: string, description: string][] => {
  const taken = new Set(Object.values(apis).flatMap((api) => api.scopes))
  return Object.entries(scopes).filter(([name]) => !taken.has(name))
}
