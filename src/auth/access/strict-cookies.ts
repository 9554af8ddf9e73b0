import type { FastifyRequest } from 'fastify'
import { isNavigation } from '../../platform/http/navigation.ts'

/** Tests for a cross-site navigation to a page, for which browsers withhold strict cookies (RFC 6265bis section 5.2). */
export const isWithoutStrictCookies = (request: FastifyRequest): boolean =>
  request.headers['sec-fetch-site'] === 'cross-site' &&
  ['GET', 'HEAD'].includes(request.method) &&
  request.routeOptions.config.navigation !== undefined &&
  isNavigation(request) &&
  request.server.config.current().session.same_site === 'strict'

/** Returns a page that reloads the same URL. The reload is same-site, so it carries the cookies. */
export function reloadingPage({ url }: FastifyRequest): string {
  const escaped = url.replace(/[&"<>]/g, (sign) => `&#${sign.charCodeAt(0)};`)
  return `<!doctype html><meta http-equiv="refresh" content="0; url=${escaped}"><a href="${escaped}">Continue</a>\n`
}
