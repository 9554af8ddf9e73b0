import type { FastifyRequest } from 'fastify'
import { isWithin } from '../../../platform/config/hosts.ts'
import type { Advice } from '../../../platform/http/advice.ts'
import { isCrossSite } from '../cross-site.ts'
import { originOf } from '../page-address.ts'

/** Tests whether the request has the session cookie, whatever its value. */
export const hasSessionCookie = ({ headers, server }: FastifyRequest): boolean =>
  server.cookies.parse(headers.cookie ?? '').values[server.cookies.session] !== undefined

/** Explains why no usable session cookie arrived; null if one did. Requires that the session was read. */
export function cookieProblem(request: FastifyRequest): Advice | null {
  const { cookies, config } = request.server
  const { repeated } = cookies.parse(request.headers.cookie ?? '')
  const { session, cors } = config.current()
  if (repeated.some((name) => name.endsWith(cookies.session))) {
    const message =
      'The session cookie arrived more than once, and svc cannot tell which one it set. Delete the cookies of this ' +
      'host and its parent domains.'
    return { message, key: 'session.domain' }
  }
  if (!hasSessionCookie(request)) {
    const isWithheld = originOf(request.headers.origin) !== null && !cors.supports_credentials
    const message =
      'The request has no session cookie. Call GET /svc/csrf-cookie first, and send requests with credentials ' +
      "(fetch: credentials: 'include', axios: withCredentials: true)."
    return { message, key: isWithheld ? 'cors.supports_credentials' : null }
  }
  if (request.presentedSessionId !== null) return null
  const message =
    'svc did not issue the session cookie, or app.secret changed. Another service on this host name, even on another ' +
    `port, may set a cookie with the same name (${session.cookie}).`
  return { message, key: 'session.cookie' }
}

/** Tests whether the session waits for the second factor of a sign-in that has not expired. */
export const waitsForSecondFactor = ({ session, server }: FastifyRequest): boolean =>
  (session?.pendingLogin?.expiresAt ?? 0) > server.clock.now()

/** Explains why the session does not authenticate the request; null if it does. */
export function sessionProblem(request: FastifyRequest): Advice | null {
  if (request.presentedSessionId === null || request.session.state?.row?.user) return null
  if (waitsForSecondFactor(request)) {
    return { message: 'The session waits for the second factor. Complete the sign-in first.', key: null }
  }
  return { message: 'The session is anonymous, ended or expired. Sign in again.', key: null }
}

/** Explains why a browser withholds the cookies from requests of this page; null if it sends them. */
export function sameSiteProblem(request: FastifyRequest): Advice | null {
  const { same_site } = request.server.config.current().session
  const page = originOf(request.headers.origin ?? request.headers.referer)
  if (page === null || same_site === 'none' || !isCrossSite(request)) return null
  const message =
    `The page at ${page} is on another site than svc, so browsers do not send cookies with SameSite=${same_site}. ` +
    'Serve both under one registrable domain and scheme.'
  return { message, key: 'session.same_site' }
}

/** Explains why the cookies do not reach the page; null if they do. */
export function domainProblem(request: FastifyRequest): Advice | null {
  const { session } = request.server.config.current()
  const { hostname } = request
  const domain = session.domain?.replace(/^\./, '').toLowerCase()
  if (domain !== undefined && !isWithin(hostname, domain)) {
    const message = `Cookies have the domain ${domain}, so browsers reject them from the host of this request.`
    return { message, key: 'session.domain' }
  }
  const page = originOf(request.headers.origin ?? request.headers.referer)
  const host = page === null ? hostname : new URL(page).hostname
  const isCovered = host === hostname || (domain !== undefined && isWithin(host, domain))
  if (page === null || isCovered || sameSiteProblem(request)) return null
  const message =
    `Scripts of the page at ${page} cannot read the cookie ${session.xsrf_cookie}, which belongs to another host. Set a domain ` +
    'that contains both.'
  return { message, key: 'session.domain' }
}
