import type { FastifyReply, FastifyRequest } from 'fastify'
import { isNavigation } from '../plugins/navigation.ts'

/** Whether a browser opens a page without the session's cookie, since another site sent it here (RFC 6265bis section 5.2). */
export const isWithoutStrictCookies = (request: FastifyRequest): boolean =>
  request.headers['sec-fetch-site'] === 'cross-site' &&
  ['GET', 'HEAD'].includes(request.method) &&
  isNavigation(request) &&
  request.server.config.current().session.same_site === 'strict'

/** A page of svc that opens the same URL once more: what a page of the same site asks for comes with the cookies. */
export function openAgain(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const url = request.url.replace(/[&"<>]/g, (sign) => `&#${sign.charCodeAt(0)};`)
  const page = `<!doctype html><meta http-equiv="refresh" content="0; url=${url}"><a href="${url}">Continue</a>\n`
  return reply.type('text/html; charset=utf-8').send(page)
}
