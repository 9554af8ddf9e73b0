import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { HttpError, isServiceUnavailable, secondFactorMissing, unauthenticated } from '../../platform/errors.ts'
import { logAdvice } from '../../platform/http/advice.ts'
import { only, type Step, type StepHook } from '../../platform/http/step.ts'
import {
  type BearerChecks,
  type BoundCheck,
  type ByFormat,
  bearerCaller,
  bearerOf,
  boundCaller,
} from './bearer-token.ts'
import { boundCookie, sessionUnbound } from './bound-sessions.ts'
import { type Caller, SessionCaller } from './caller.ts'
import { waitsForSecondFactor } from './diagnosis/cookies.ts'
import { unauthenticatedAdvice } from './diagnosis/diagnose.ts'
import type { ProofTarget } from './dpop.ts'
import { isHidden } from './impersonation.ts'
import { accessOf, isGuest, requiresCaller } from './route-access.ts'
import { isStateful } from './stateful.ts'
import { isWithoutStrictCookies, reloadingPage } from './strict-cookies.ts'
import { counted } from './verdicts.ts'
import { type Visit, visitOf } from './visit.ts'

/** A remembered browser whose session has ended, and a function that starts a new session. */
export interface Remembered {
  caller: Caller
  resume(request: FastifyRequest, reply: FastifyReply): Promise<void>
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A route of the test page. `query-token` also accepts `?token=` as bearer. */
    testPage?: 'page' | 'query-token'
  }
  interface FastifyInstance {
    findToken: FindToken
    /** Checks of the access tokens that the OAuth server issues. */
    accessTokens: { check: BearerChecks['jwt']; checkBound: BoundCheck }
  }
  interface FastifyRequest {
    caller: Caller | null
    remembered: Remembered | null
  }
}

/** Returns the 401 for a request without a caller. Its code tells what the session waits for. */
function noCaller(request: FastifyRequest): HttpError {
  if (request.session?.state?.held) return sessionUnbound()
  return waitsForSecondFactor(request) ? secondFactorMissing(401) : unauthenticated()
}

/**
 * Repeats a request whose browser kept the cookie of its binding for too long: without the cookie, the browser proves
 * itself first. A request without the cookie is not repeated.
 */
function repeatBound(request: FastifyRequest, reply: FastifyReply): FastifyReply | undefined {
  const { boundSessions, clock } = request.server
  const bindingId = request.session?.state?.held?.bindingId ?? null
  if (bindingId === null || !boundSessions.isLate(bindingId, request.cookies[boundCookie], clock.now()))
    return undefined
  boundSessions.clearCookie(request, reply)
  return reply.redirect(request.url, 307)
}

interface CallerParts {
  /** Check API tokens. */
  apiToken: BearerChecks['apiToken']
  boundApiToken: BoundCheck
  /** Returns the browser of a valid remember-me cookie, or null. */
  findRemembered: (visit: Visit) => Promise<Remembered | null>
}

const is401 = (error: unknown): boolean => error instanceof HttpError && error.statusCode === 401

/**
 * Returns the caller of the bearer token or of the token with a DPoP proof, or null without one. Throws 401 for an invalid
 * token. `target` is the request that the proof is for, if it is not this one.
 */
type FindToken = (
  request: FastifyRequest,
  expected?: { audience?: string | undefined; target?: ProofTarget },
) => Promise<Caller | null>

/** Pipeline steps that find the caller of a request. */
interface CallerSteps {
  readSession: Step
  findCaller: Step
  resumeRemembered: Step
}

/** Creates the steps that find the caller by session, remember-me cookie or token. */
export function openCallers(
  app: FastifyInstance,
  { apiToken, boundApiToken, findRemembered }: CallerParts,
): CallerSteps {
  const { check, checkBound } = app.accessTokens
  const bearers = { jwt: check, apiToken }
  const bound: ByFormat<BoundCheck> = { jwt: checkBound, apiToken: boundApiToken }
  const { sessions, touches, metrics } = app
  app.decorateRequest('caller', null)
  app.decorateRequest('remembered', null)
  app.decorateRequest('keyThumbprint', null)
  app.decorateRequest('presentedSessionId', null)
  app.decorateRequest('passedCsrf', false)
  app.decorateRequest('cookiePrefixes', null)

  async function sessionCaller(request: FastifyRequest, reply: FastifyReply): Promise<Caller | null> {
    if (request.headers.cookie === undefined) return null
    await sessions.read(request, reply)
    const row = request.session.state?.row
    if (row) touches.session(row.id, row.lastSeenAt)
    if (row?.user) {
      sessions.sendCookies(request, reply)
      return new SessionCaller(row, row.user, request.session.impersonation)
    }
    request.remembered = await findRemembered(visitOf(request))
    return request.remembered?.caller ?? null
  }

  /**
   * Tries the stateful session, then the bearer token. On the test page, navigations are stateful and links may carry a
   * token.
   */
  const hybrid =
    (testPage?: 'page' | 'query-token') =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      const config = app.config.current()
      const { stateful, stateful_api } = config
      const { headers, url } = request
      const isOwnPage = testPage !== undefined && headers['sec-fetch-site'] === 'same-origin'
      if (stateful_api && (isOwnPage || isStateful(headers, stateful))) {
        request.caller = await sessionCaller(request, reply)
      }
      const repeated = repeatBound(request, reply)
      if (repeated) return repeated
      const linked = testPage === 'query-token' ? new URLSearchParams(url.split('?')[1]).get('token') : null
      try {
        if (linked) request.caller ??= await bearerCaller(linked, request, bearers)
        request.caller ??= await app.findToken(request)
        if (!request.caller) throw noCaller(request)
      } catch (error) {
        if (is401(error) && config.guard.diagnose)
          logAdvice(request.log, 'authentication failed', unauthenticatedAdvice(request))
        throw error
      }
      return undefined
    }

  async function requireSession(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    if (isWithoutStrictCookies(request)) return openAgain(request, reply)
    request.caller = await sessionCaller(request, reply)
    const repeated = repeatBound(request, reply)
    if (repeated) return repeated
    if (!request.caller) throw noCaller(request)
  }

  async function readSession(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    if (isWithoutStrictCookies(request)) return openAgain(request, reply)
    request.caller = await sessionCaller(request, reply)
    await sessions.read(request, reply)
    const repeated = repeatBound(request, reply)
    if (repeated) return repeated
    if (isHidden(request)) request.caller = null
    if (!request.caller && request.presentedSessionId === null) sessions.sendCookies(request, reply)
  }

  // Runs after the CSRF check, so that a forged request cannot use up the remember-me cookie.
  function resume(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
    if (request.remembered) request.remembered.resume(request, reply).then(() => done(), done)
    else done()
  }

  /**
   * Like `resume`, for guest routes: if the token was revoked meanwhile, or a hook gives no answer, continue as a guest. A
   * client that asks for an authorization must not take that for a user who signed out.
   */
  const resumeGuest = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void =>
    resume(request, reply, (error) => {
      const { access } = request.routeOptions.config
      const isForClient = access !== undefined && 'csrf' in access && access.csrf === 'entry'
      if (!is401(error) && (isForClient || !isServiceUnavailable(error))) return done(error)
      request.caller = null
      done()
    })

  function findFor(route: RouteOptions): StepHook | null {
    const access = accessOf(route)
    if (!requiresCaller(access)) return null
    const find = access.family === 'hybrid' ? hybrid(route.config?.testPage) : requireSession
    return measured(find, access.family)
  }

  const measured = (find: typeof requireSession, family: string): StepHook =>
    metrics ? counted(find, family, metrics) : find

  const readFor = (route: RouteOptions): StepHook | null =>
    isGuest(accessOf(route)) ? measured(readSession, 'session') : null

  function resumeFor(route: RouteOptions): StepHook | null {
    const access = accessOf(route)
    if (access.family === 'none') return null
    return isGuest(access) ? resumeGuest : resume
  }

  app.decorate(
    'findToken',
    async (request, expected = {}) =>
      (await bearerCaller(bearerOf(request.headers.authorization), request, bearers, expected.audience)) ??
      boundCaller(request, bound, expected),
  )

  return {
    readSession: { name: 'read session', phase: 'onRequest', answers: [], hooksFor: (route) => only(readFor(route)) },
    findCaller: { name: 'find caller', phase: 'onRequest', answers: [401], hooksFor: (route) => only(findFor(route)) },
    resumeRemembered: {
      name: 'resume remembered',
      phase: 'preValidation',
      answers: [],
      hooksFor: (route) => only(resumeFor(route)),
    },
  }
}

const openAgain = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
  reply.type('text/html; charset=utf-8').send(reloadingPage(request))
