import type { FastifyReply, FastifyRequest } from 'fastify'
import { cacheSize, recent } from '../../platform/cache.ts'
import { constantTimeEqual } from '../../platform/crypto/hash.ts'
import type { MacKey } from '../../platform/crypto/mac.ts'
import { csrfMismatch } from '../../platform/errors.ts'
import { type Advice, logAdvice } from '../../platform/http/advice.ts'
import { methodsOf, type Step } from '../../platform/http/step.ts'
import { valuesOf } from './cookies.ts'
import { isCrossSite, isFromForeignPage, isSafeMethod } from './cross-site.ts'
import { shownOrigin } from './page-address.ts'
import { accessOf } from './route-access.ts'

/** XSRF token of a session id. The leading letter keeps clients from parsing it as JSON or a number. */
export class Xsrf {
  readonly #keys: readonly MacKey[]
  /** Returns the token of a session id. */
  readonly token: (sessionId: string) => string

  constructor(keys: readonly MacKey[]) {
    const [first] = keys
    this.#keys = keys
    this.token = recent(cacheSize.hashes, (sessionId) => {
      if (!first) throw new Error('XSRF tokens need a key.')
      return `x${first.sign(sessionId)}`
    })
  }

  fits(token: string, sessionId: string): boolean {
    return this.#keys.some((key) => constantTimeEqual(`x${key.sign(sessionId)}`, token))
  }
}

const header = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value)

/** Returns the presented token. The first source with a token counts, even if its token is invalid. */
function presentedToken(request: FastifyRequest): unknown {
  const body = request.body
  const field = typeof body === 'object' && body !== null && '_token' in body ? body._token : undefined
  if (field !== undefined && field !== null && field !== '') return field
  return header(request.headers['x-csrf-token']) || header(request.headers['x-xsrf-token']) || undefined
}

/** Throws 419 unless the browser reports a same-origin page, or a trusted page sends the token of the session. */
export function checkToken(request: FastifyRequest, presentedSessionId: string | null): void {
  refuse(request, csrfProblem(request, presentedSessionId))
}

/** Explains why a request fails the CSRF check; null if it passes. */
export function csrfProblem(request: FastifyRequest, presentedSessionId: string | null): Advice | null {
  // Pages cannot forge Sec-Fetch-Site. Browsers send it only to https and localhost.
  if (request.headers['sec-fetch-site'] === 'same-origin') return null
  const foreign = foreignPageProblem(request)
  if (foreign) return foreign
  const token = presentedToken(request)
  const { xsrf } = request.server.sessions
  const fits = typeof token === 'string' && presentedSessionId !== null && xsrf.fits(token, presentedSessionId)
  return fits ? null : tokenProblem(request, token, presentedSessionId)
}

/** Explains the rejection of a page, even with a valid token; null for trusted pages. */
function foreignPageProblem(request: FastifyRequest): Advice | null {
  if (!isFromForeignPage(request)) return null
  const page = shownOrigin(request.headers.origin ?? '')
  const message = `The browser reports a page of another origin (${page}), which is not app.url, stateful or in cors.origins.`
  return { message, key: 'stateful' }
}

function tokenProblem(request: FastifyRequest, token: unknown, presentedSessionId: string | null): Advice {
  const { xsrf_cookie: name } = request.server.config.current().session
  if (presentedSessionId === null) {
    const message = 'There is no valid session cookie to compare a CSRF token with. Call GET /svc/csrf-cookie first.'
    return { message, key: null }
  }
  if (token === undefined) {
    const message =
      `The request has no CSRF token. Send the value of the cookie ${name} in the header X-XSRF-TOKEN ` +
      '(axios: withXSRFToken: true). Scripts of other hosts can read the cookie only with a domain that contains both.'
    return { message, key: 'session.domain' }
  }
  const problem = cookieMismatch(request, token, presentedSessionId)
  if (problem) return problem
  const message = `The CSRF token does not belong to this session, and the request has no cookie ${name}.`
  return { message, key: 'session.domain' }
}

/** Explains a token that is not in the cookie, or that another application on this host put there; null otherwise. */
function cookieMismatch(request: FastifyRequest, token: unknown, sessionId: string): Advice | null {
  const { server, headers } = request
  const { xsrf_cookie: name } = server.config.current().session
  const values = valuesOf(headers.cookie ?? '', name, server)
  if (values.length > 1) {
    const message =
      `The browser has ${values.length} cookies ${name}, so the page sent the token of another application on this ` +
      'host or a parent domain. Give the cookie of svc another name.'
    return { message, key: 'session.xsrf_cookie' }
  }
  const [value] = values
  if (value === undefined) return null
  if (value !== token) {
    const message =
      `The CSRF token differs from the cookie ${name}. Read the cookie before each request, because it changes with ` +
      'the session. svc reads the field _token first, then X-CSRF-TOKEN, then X-XSRF-TOKEN.'
    return { message, key: null }
  }
  if (server.sessions.xsrf.fits(value, sessionId)) return null
  const message =
    `The cookie ${name} does not belong to the session of svc. Another application on this host may set a cookie with ` +
    'the same name. Then give the cookie of svc another one.'
  return { message, key: 'session.xsrf_cookie' }
}

function refuse(request: FastifyRequest, problem: Advice | null): void {
  if (!problem) return
  if (request.server.config.current().guard.diagnose) logAdvice(request.log, 'CSRF check failed', problem)
  throw csrfMismatch()
}

async function checkCsrf(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { sessions } = request.server
  checkToken(request, request.presentedSessionId)
  request.passedCsrf = true
  // A front end on another site receives its cookies only after the check.
  if (isCrossSite(request) && request.session.state?.row?.user) sessions.sendCookies(request, reply)
}

async function checkSessionCsrf(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (request.caller?.kind === 'session') await checkCsrf(request, reply)
}

const refuseForeignPage = async (request: FastifyRequest): Promise<void> => refuse(request, foreignPageProblem(request))

/** Rejects unsafe cross-site requests that carry the user's cookies. */
export const csrf: Step = {
  name: 'CSRF',
  phase: 'preValidation',
  answers: [419],
  hooksFor: (route) => {
    const access = accessOf(route)
    if (methodsOf(route).every(isSafeMethod)) return null
    if (access.family === 'none') return access.pages === 'trusted' ? [refuseForeignPage] : null
    if (!('csrf' in access)) return [access.caller === 'guest' ? checkCsrf : checkSessionCsrf]
    return access.csrf === 'form' ? [refuseForeignPage] : null
  },
}
