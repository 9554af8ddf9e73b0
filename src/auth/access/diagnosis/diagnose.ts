import type { FastifyRequest } from 'fastify'
import type { Advice } from '../../../platform/http/advice.ts'
import { isNavigation } from '../../../platform/http/navigation.ts'
import { corsProblem } from '../cors.ts'
import { csrfProblem } from '../csrf.ts'
import { originOf } from '../page-address.ts'
import { cookieProblem, domainProblem, hasSessionCookie, sameSiteProblem, sessionProblem } from './cookies.ts'
import { clockProblem, hostProblem, proxyProblem } from './network.ts'
import { originProblem } from './origin.ts'

/** One check of a request. */
interface Finding extends Advice {
  check: string
  ok: boolean
}

interface Circumstances {
  /** Whether the peer is in `server.trust_proxy`. */
  isTrustedProxy: boolean
  /** The clocks of the caller, if it sent its time, and of svc. */
  callerNow: number | undefined
  now: number
}

/** Explains how svc sees a request of a page. Names hosts and settings, never users, ids or secrets. */
export function findingsOf(request: FastifyRequest, { isTrustedProxy, callerNow, now }: Circumstances): Finding[] {
  const { headers, server } = request
  const config = server.config.current()
  const page = originOf(headers.origin ?? headers.referer)
  const finding = (check: string, problem: Advice | null, message: string): Finding => ({
    check,
    ok: problem === null,
    ...(problem ?? { message, key: null }),
  })
  const hasSession = request.presentedSessionId !== null
  // A person who opens the address in a tab calls svc from no page.
  const isTab = isNavigation(request) && headers.origin === undefined
  const ofPage = (check: string, problem: Advice | null, message: string): Finding =>
    isTab ? finding(check, null, 'Not checked, because no page calls svc here.') : finding(check, problem, message)
  // Without Origin, the page has the origin of svc, and CORS does not apply.
  const cors = headers.origin === undefined ? null : corsProblem(headers.origin, config)
  const lacksCookie = isTab && !hasSessionCookie(request)
  return [
    ofPage('origin', originProblem(headers, config), `The page at ${page} is in the stateful list.`),
    finding('host', hostProblem(request), 'The request came to the host of app.url.'),
    ofPage('cors', cors, 'The page may read responses of svc.'),
    lacksCookie
      ? finding('cookie', null, 'This browser has no session cookie.')
      : finding('cookie', cookieProblem(request), 'A valid session cookie arrived.'),
    finding('session', sessionProblem(request), hasSession ? 'The session is signed in.' : 'There is no session.'),
    ofPage('same_site', sameSiteProblem(request), 'Browsers send the cookies with requests of this page.'),
    ofPage('cookie_domain', domainProblem(request), 'The domain of the cookies fits the page.'),
    ofPage(
      'csrf',
      csrfProblem(request, request.presentedSessionId),
      'The CSRF check passes: the browser reports the same origin, or the token belongs to the session.',
    ),
    finding('proxy', proxyProblem(request, isTrustedProxy), 'The forwarded headers are in order, if there are any.'),
    finding(
      'clock',
      callerNow === undefined ? null : clockProblem(callerNow, now),
      callerNow === undefined ? 'Not compared. Add ?now= with Date.now().' : 'The clocks agree.',
    ),
  ]
}

/** Explains a 401 of the guard, for the log. */
export function unauthenticatedAdvice(request: FastifyRequest): Advice {
  const { headers, server } = request
  if (headers.authorization !== undefined)
    return { message: 'The token is unknown, revoked, expired or malformed.', key: null }
  const origin = originProblem(headers, server.config.current())
  if (origin && !hasSessionCookie(request))
    return { message: 'The request has neither a session cookie nor a token.', key: null }
  const unknown = { message: 'The session is anonymous, ended or expired.', key: null }
  return origin ?? cookieProblem(request) ?? sessionProblem(request) ?? unknown
}
