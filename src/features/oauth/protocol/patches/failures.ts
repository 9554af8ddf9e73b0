import type { FastifyRequest } from 'fastify'
import type Provider from 'oidc-provider'
import { renderErrorPage } from '../../../../pages/pages.ts'
import { isMissingUser } from '../../../../platform/database/missing-user.ts'
import { type HttpError, methodNotAllowed, notFound } from '../../../../platform/errors.ts'
import { answerOf } from '../../../../platform/http/error-handler.ts'
import { isNavigation } from '../../../../platform/http/navigation.ts'
import { errorBody } from '../../../../platform/http/problem-details.ts'
import { requestFactsOf } from '../browser.ts'
import { protocolPaths } from '../paths.ts'
import { patchAnswer } from './patch.ts'

/** OAuth error code of an error of svc (RFC 6749 sections 4.1.2.1 and 5.2). */
function protocolName({ statusCode }: HttpError): string {
  if (statusCode === 503 || statusCode === 429) return 'temporarily_unavailable'
  return statusCode >= 500 ? 'server_error' : 'invalid_request'
}

/** Error of svc in the protocol's format. */
export const protocolError = (error: HttpError): { error: string; error_description: string } => ({
  error: protocolName(error),
  error_description: error.message,
})

/** Tests whether a person sees the response. Responses of endpoints for programs are never shown. */
export const isSeen = (request: FastifyRequest): boolean =>
  request.routeOptions.config.access?.family !== 'none' && isNavigation(request)

const isNamedOnly = (body: unknown): body is { error: string; error_description?: string } =>
  typeof body === 'object' && body !== null && 'error' in body && !('error_description' in body)

/**
 * Handles errors inside the library like svc's own: 503 while the database is unavailable, and only an error code for
 * anything unexpected. The library would show its messages, and log nothing that fails after its response.
 */
export function answerFailures(provider: Provider): void {
  const failures = new WeakMap<object, Error>()
  provider.on('server_error', (ctx, error) => void failures.set(ctx, error))
  patchAnswer(
    provider,
    'failures',
    "answers unexpected failures as svc's own error handler does",
    async (ctx, next) => {
      try {
        await next()
      } catch (error) {
        failures.set(ctx, error instanceof Error ? error : new Error(String(error)))
      }
      const { request, reply } = requestFactsOf(ctx.req)
      // For unsupported features, the library gives only the error code.
      const { body }: { body?: unknown } = ctx
      if (isNamedOnly(body)) body.error_description = 'This feature is not supported.'
      const failure = failures.get(ctx)
      if (failure && isMissingUser(failure) && ctx.oidc?.route === 'token') {
        ctx.status = 400
        ctx.body = { error: 'invalid_grant', error_description: 'The account of the user was deleted.' }
        return undefined
      }
      if (failure) return answer(answerOf(failure, request))
      // The library has no such route: another spelling of a path, or a disabled method.
      if (ctx.status !== 404 || ctx.body) return undefined
      const { methods } = protocolPaths[ctx.path] ?? {}
      if (!methods) return answer(notFound())
      if (ctx.method !== 'OPTIONS') return answer(methodNotAllowed(methods.filter((method) => method !== 'POST')))
      ctx.set('allow', methods.join(', '))
      ctx.status = 204

      function answer(error: HttpError): void {
        ctx.remove('location')
        ctx.remove('content-type')
        ctx.status = error.statusCode
        ctx.set(error.headers)
        if (isSeen(request)) ctx.body = renderErrorPage(reply, error)
        else if (ctx.routerName !== undefined) ctx.body = protocolError(error)
        else {
          const { type, body } = errorBody(error, request)
          ctx.vary('accept')
          ctx.body = JSON.stringify(body)
          ctx.type = type
        }
      }
    },
  )
  // The remaining errors are from closed connections. The library would print them.
  provider.silent = true
}
