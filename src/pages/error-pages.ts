import { randomBytes } from 'node:crypto'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type HttpError, notFound } from '../platform/errors.ts'
import { answerOf, sendError } from '../platform/http/error-handler.ts'
import { isNavigation } from '../platform/http/navigation.ts'
import { errorPageHeaders } from './page-headers.ts'
import { sendErrorPage } from './pages.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `false` sends errors as JSON to browsers too, because a proxy would show the page under another address. */
    errorPages?: false
  }
}

/**
 * Tests whether a browser opened the address of a route that has no pages. Only GET and HEAD count, because the forms of svc
 * post to routes with pages. A request that accepts JSON does not count, because browsers do not accept it.
 */
const opensAddress = (request: FastifyRequest): boolean =>
  ['GET', 'HEAD'].includes(request.method) &&
  request.routeOptions.config.errorPages !== false &&
  isNavigation(request) &&
  !/[/+]json/i.test(request.headers.accept ?? '')

/** Sends an error as a page to browsers, and as JSON to programs. */
function send(request: FastifyRequest, reply: FastifyReply, error: HttpError): FastifyReply {
  if (!opensAddress(request)) return sendError(reply, error)
  reply.cspNonce = { style: randomBytes(16).toString('hex'), script: '' }
  reply.headers(errorPageHeaders(request.server.config.current(), reply.cspNonce.style))
  return sendErrorPage(reply, error)
}

/** Installs the error handler of routes without pages, and the one for unknown addresses. */
export function addErrorPages(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError | HttpError, request, reply) =>
    send(request, reply, answerOf(error, request)),
  )
  app.setNotFoundHandler((request, reply) => send(request, reply, notFound()))
}
