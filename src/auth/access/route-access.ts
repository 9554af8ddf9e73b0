import type { RouteOptions } from 'fastify'

/** Abilities that a route requires. */
export type AbilityRule = { all: readonly string[] } | { any: readonly string[] }

/**
 * How a route is protected. `session`: reads the session from any origin, ignores bearer tokens. `hybrid`: stateful
 * session, otherwise bearer token. `none`: reads neither, without CSRF checks; with `pages: 'trusted'`, it rejects requests from pages
 * of other origins, which could send forms from the addresses of their visitors.
 */
export type RouteAccess =
  | { family: 'hybrid'; caller: 'required'; abilities?: AbilityRule }
  /**
   * Only for administrators, and for clients and API tokens with the scope (by default `svc:admin`). A session needs a recent
   * confirmation for `changes`.
   */
  | { family: 'hybrid' | 'session'; caller: 'required'; administrator: 'reads' | 'changes'; scope?: string }
  | { family: 'session'; caller: 'required' | 'guest' }
  /** `form`: the form contains a secret that the library checks. `entry`: other sites may post to it. */
  | { family: 'session'; caller: 'guest'; csrf: 'form' | 'entry' }
  | { family: 'none'; pages?: 'trusted' }

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: RouteAccess
  }
}

/** Returns the declared access of a route. Throws if there is none. */
export function accessOf(route: RouteOptions): RouteAccess {
  const access = route.config?.access
  if (!access) throw new Error(`${String(route.method)} ${route.url} does not declare its access.`)
  return access
}

/** Tests whether the route allows guests. */
export const isGuest = (access: RouteAccess): boolean => access.family !== 'none' && access.caller === 'guest'

/** Tests whether the route requires a caller. */
export const requiresCaller = (access: RouteAccess): boolean => access.family !== 'none' && access.caller === 'required'
