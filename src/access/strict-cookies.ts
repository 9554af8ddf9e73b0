import type { FastifyRequest } from 'fastify'
import { isNavigation } from '../http/navigation.ts'

/** Whether a browser opens a page without the session's cookie, since another site sent it here (RFC 6265bis section 5.2). */
export const isWithoutStrictCookies = (request: FastifyRequest): boolean =>
  request.headers['sec-fetch-site'] === 'cross-site' &&
  ['GET', 'HEAD'].includes(request.method) &&
  isNavigation(request) &&
  request.server.config.current().session.same_site === 'strict'

/** The HTML of a page of svc that opens the same URL once more: what a page of the same site asks for comes with the cookies. */
export function againPage({ url }: FastifyRequest): string {
  const escaped = url.replace(/[&"<>]/g, (sign) => `&#${sign.charCodeAt(0)};`)
  return `<!doctype html><meta http-equiv="refresh" content="0; url=${escaped}"><a href="${escaped}">Continue</a>\n`
}
