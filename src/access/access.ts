import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  preValidationAsyncHookHandler,
  RouteOptions,
} from 'fastify'
import { emailUnverified, HttpError, unauthenticated } from '../errors.ts'
import type { User } from '../users/user.ts'
import { type AbilityRule, requireAbilities } from './abilities.ts'
import { type Caller, SessionCaller } from './caller.ts'
import { isCrossSite, isSafeMethod } from './cross-site.ts'
import { checkCsrf, refuseForeignPage } from './csrf.ts'
import { diagnosis } from './diagnose.ts'
import { type BearerCheck, type BoundCheck, bearerCaller, bearerOf, boundTokenOf } from './guard.ts'
import { isStateful } from './stateful.ts'
import { againPage, isWithoutStrictCookies } from './strict-cookies.ts'
import { counted } from './verdicts.ts'

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

/** A remembered browser whose session has ended: who it is, and how the new session begins. */
export interface Remembered {
  caller: Caller
  resume(request: FastifyRequest, reply: FastifyReply): Promise<void>
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: RouteAccess
    /** A route of the browser test page; `query-token` also takes `?token=` as its bearer. */
    testPage?: 'page' | 'query-token'
    /** Whether a user may use the route whose address is yet to be verified, where `registration.require_verified_email` asks for that. */
    unverified?: 'allowed'
  }
  interface FastifyRequest {
    caller: Caller | null
    remembered: Remembered | null
  }
}

interface AccessParts {
  /** Asked in this order; the first that knows the bearer's shape decides. */
  bearers: readonly BearerCheck[]
  bound: BoundCheck
  /** The browser that the remember-me cookie of this request speaks for, if it is good. */
  findRemembered: (request: FastifyRequest) => Promise<Remembered | null>
}

const is401 = (error: unknown): boolean => error instanceof HttpError && error.statusCode === 401

/** Gives every route the hooks that its declared access asks for, in the order 401, 419, 403. */
export function addAccess(app: FastifyInstance, { bearers, bound, findRemembered }: AccessParts): void {
  const { sessions, touches, metrics } = app
  app.decorateRequest('caller', null)
  app.decorateRequest('remembered', null)
  app.decorateRequest('presentedSessionId', null)
  app.decorateRequest('passedCsrf', false)
  app.decorateRequest('cookiePrefixes', null)

  async function sessionCaller(request: FastifyRequest, reply: FastifyReply): Promise<Caller | null> {
    if (request.headers.cookie === undefined) return null
    await sessions.read(request, reply)
    const row = request.session.state?.row
    if (row) touches.session(row.id, row.lastSeenAt)
    if (row?.user) {
      sessions.sendPair(request, reply)
      return new SessionCaller(row.publicId, row.user)
    }
    request.remembered = await findRemembered(request)
    return request.remembered?.caller ?? null
  }

  /** A stateful session, else the bearer. On the test page a navigation of its own is stateful too, and its link carries the token. */
  const guard =
    (testPage?: 'page' | 'query-token') =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      const config = app.config.current()
      const { stateful, stateful_api } = config
      const { headers, url } = request
      const isOwnPage = testPage !== undefined && headers['sec-fetch-site'] === 'same-origin'
      if (stateful_api && (isOwnPage || isStateful(headers, stateful))) {
        request.caller = await sessionCaller(request, reply)
      }
      const linked = testPage === 'query-token' ? new URLSearchParams(url.split('?')[1]).get('token') : null
      try {
        request.caller ??= await bearerCaller(linked || bearerOf(headers.authorization), request, bearers)
        if (!request.caller) {
          const token = boundTokenOf(headers.authorization)
          if (token === null) throw unauthenticated()
          request.caller = await bound(token, request)
        }
      } catch (error) {
        if (is401(error) && config.guard.diagnose) request.log.warn(`nobody was let in: ${diagnosis(headers, config)}`)
        throw error
      }
    }

  async function requireSession(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    if (isWithoutStrictCookies(request)) return openAgain(request, reply)
    request.caller = await sessionCaller(request, reply)
    if (!request.caller) throw unauthenticated()
  }

  async function readSession(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    if (isWithoutStrictCookies(request)) return openAgain(request, reply)
    request.caller = await sessionCaller(request, reply)
    await sessions.read(request, reply)
    if (!request.caller && request.presentedSessionId === null) sessions.sendPair(request, reply)
  }

  const checkGuestCsrf = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    checkCsrf(request, sessions.xsrf, request.presentedSessionId)
    request.passedCsrf = true
    // A front end on another site gets its cookies only now.
    if (isCrossSite(request) && request.session.state?.row?.user) sessions.sendPair(request, reply)
  }

  const checkSessionCsrf = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (request.caller?.kind === 'session') await checkGuestCsrf(request, reply)
  }

  function csrfHooks(access: Exclude<RouteAccess, { family: 'none' }>): preValidationAsyncHookHandler[] {
    if (!('csrf' in access)) return [access.caller === 'guest' ? checkGuestCsrf : checkSessionCsrf]
    return access.csrf === 'form' ? [async (request) => refuseForeignPage(request)] : []
  }

  // After the CSRF check: a forged request must not use up the remember-me cookie.
  function resume(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
    if (request.remembered) request.remembered.resume(request, reply).then(() => done(), done)
    else done()
  }

  /** The same where nobody need be signed in: who was forgotten since the look-up is simply a guest. */
  const resumeGuest = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void =>
    resume(request, reply, (error) => {
      if (!is401(error)) return done(error)
      request.caller = null
      done()
    })

  function requireVerified(request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
    const { user } = request.caller ?? {}
    const isRefused = app.config.current().registration.require_verified_email && user?.email_verified_at === null
    done(isRefused ? emailUnverified() : undefined)
  }

  app.addHook('onRoute', (route: RouteOptions) => {
    const access = route.config?.access
    if (!access) throw new Error(`${String(route.method)} ${route.url} does not declare its access.`)
    if (access.family === 'none') return
    const isUnsafe = [route.method].flat().some((method) => !isSafeMethod(method))
    const isGuest = access.caller === 'guest'
    const find = access.family === 'guard' ? guard(route.config?.testPage) : isGuest ? readSession : requireSession
    route.onRequest = [metrics ? counted(find, access.family, metrics) : find, ...[route.onRequest ?? []].flat()]
    const csrf = isUnsafe ? csrfHooks(access) : []
    const abilities = access.family === 'guard' ? access.abilities : undefined
    const verified = isGuest || route.config?.unverified ? [] : [requireVerified]
    const check = [...verified, ...(abilities ? [abilityHook(abilities)] : [])]
    route.preValidation = [...csrf, isGuest ? resumeGuest : resume, ...check, ...[route.preValidation ?? []].flat()]
  })
}

const openAgain = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
  reply.type('text/html; charset=utf-8').send(againPage(request))

const abilityHook =
  (rule: AbilityRule) => (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void) => {
    requireAbilities(callerOf(request), rule)
    done()
  }

/** The caller of a route that requires one. */
export function callerOf(request: FastifyRequest): Caller {
  if (!request.caller) throw unauthenticated()
  return request.caller
}

/** The user of a route that only users call: 401 for a machine. */
export function userOf(request: FastifyRequest): User {
  const { user } = callerOf(request)
  if (!user) throw unauthenticated()
  return user
}
