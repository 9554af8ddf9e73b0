import type { FastifyRequest } from 'fastify'
import { getDomain } from 'tldts'
import type { Config } from '../config/schema.ts'
import { isListed } from './stateful.ts'

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Whether requests with this method change nothing (RFC 9110 section 9.2.1). */
export const isSafeMethod = (method: string): boolean => safeMethods.has(method)

/** The scheme and registrable domain of an origin; the host if it has no registrable domain. */
function siteOf(origin: string): string | null {
  if (!URL.canParse(origin)) return null
  const { protocol, hostname } = new URL(origin)
  return `${protocol}//${getDomain(hostname, { allowPrivateDomains: true }) ?? hostname}`
}

/** Whether the page that sent the request is on another site than svc, so that browsers withhold SameSite cookies. */
export function isCrossSite({ headers, server }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'cross-site'
  const { origin } = headers
  return origin !== undefined && siteOf(origin) !== siteOf(server.config.current().app.url)
}

/** Whether pages of this origin may act for their visitors: svc's own, stateful ones and those listed for CORS. */
function isTrustedOrigin(origin: string | undefined, { app, cors, stateful }: Config): boolean {
  if (origin === undefined || origin === 'null') return false
  return origin === new URL(app.url).origin || isListed(origin, stateful) || (cors.origins?.includes(origin) ?? false)
}

/**
 * Whether the answer may set the session and XSRF cookies. Browsers send a cross-site form without SameSite cookies but
 * store the ones that come back: a new pair would replace the visitor's session.
 */
export function mayReceiveSession(request: FastifyRequest): boolean {
  if (isSafeMethod(request.method) || !isCrossSite(request)) return true
  const config = request.server.config.current()
  return request.passedCsrf && config.session.same_site === 'none' && isTrustedOrigin(request.headers.origin, config)
}

/**
 * Whether the browser says that an unsafe request comes from a page that may not act for svc's visitors, such as one on
 * a sibling subdomain. Browsers that say nothing are left to the token check.
 */
export function isFromForeignPage({ headers, server }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  if (site === undefined || site === 'same-origin') return false
  return !isTrustedOrigin(headers.origin, server.config.current())
}
