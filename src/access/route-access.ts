import type { RouteOptions } from 'fastify'

/** The abilities that a route requires of its caller. */
export type AbilityRule = { all: readonly string[] } | { any: readonly string[] }

/**
 * How a route is protected.
 * `session`: the session is read whatever the Origin, a bearer does not count. `guard`: stateful session, else bearer.
 * `none`: neither is read, and CSRF does not apply.
 */
export type RouteAccess =
  | { family: 'guard'; caller: 'required'; abilities?: AbilityRule }
  | { family: 'session'; caller: 'required' | 'guest' }
  /** `form`: the form contains a secret that the library checks. `entry`: other sites may post to it. */
  | { family: 'session'; caller: 'guest'; csrf: 'form' | 'entry' }
  | { family: 'none' }

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: RouteAccess
  }
}

/** The declared access of a route; throws for a route that declares none. */
export function accessOf(route: RouteOptions): RouteAccess {
  const access = route.config?.access
  if (!access) throw new Error(`${String(route.method)} ${route.url} does not declare its access.`)
  return access
}

/** Whether the route serves visitors who are not signed in. */
export const isGuest = (access: RouteAccess): boolean => access.family !== 'none' && access.caller === 'guest'

/** Whether the route requires a caller. */
export const isGuarded = (access: RouteAccess): boolean => access.family !== 'none' && access.caller === 'required'
