import type { FastifyRequest } from 'fastify'
import { getDomain } from 'tldts'
import type { Config } from '../../platform/config/schema.ts'
import { isListed } from './stateful.ts'

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Tests for a safe method (RFC 9110 section 9.2.1). */
export const isSafeMethod = (method: string): boolean => safeMethods.has(method)

/** Scheme and registrable domain of an origin, or its host without a registrable domain. */
function siteOf(origin: string): string | null {
  if (!URL.canParse(origin)) return null
  const { protocol, hostname } = new URL(origin)
  return `${protocol}//${getDomain(hostname, { allowPrivateDomains: true }) ?? hostname}`
}

/** Tests whether the request comes from a page on another site, so that browsers withhold SameSite cookies. */
export function isCrossSite({ headers, server }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'cross-site'
  const { origin } = headers
  return origin !== undefined && siteOf(origin) !== siteOf(server.config.current().app.url)
}

/** Tests whether pages of this origin may act for the user: svc's own, stateful and CORS origins. */
function isTrustedOrigin(origin: string | undefined, { app, cors, stateful }: Config): boolean {
  if (origin === undefined || origin === 'null') return false
  return origin === new URL(app.url).origin || isListed(origin, stateful) || (cors.origins?.includes(origin) ?? false)
}

/**
 * Tests whether the response may set the session and XSRF cookies. Browsers send cross-site forms without SameSite
 * cookies but store the returned ones, so a new session cookie would replace the user's session.
 */
export function mayReceiveSession(request: FastifyRequest): boolean {
  if (isSafeMethod(request.method) || !isCrossSite(request)) return true
  const config = request.server.config.current()
  return request.passedCsrf && config.session.same_site === 'none' && isTrustedOrigin(request.headers.origin, config)
}

/**
 * Tests whether the browser reports that an unsafe request comes from an untrusted page, such as one on a sibling
 * subdomain. Without that information, the token check decides.
 */
export function isFromForeignPage({ headers, server }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  if (site === undefined || site === 'same-origin') return false
  return !isTrustedOrigin(headers.origin, server.config.current())
}
