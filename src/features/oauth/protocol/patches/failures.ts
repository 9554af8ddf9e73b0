import type { FastifyRequest } from 'fastify'
import type Provider from 'oidc-provider'
import { isMissingUser } from '../../../../database/missing-user.ts'
import { type HttpError, methodNotAllowed, notFound } from '../../../../errors.ts'
import { answerOf } from '../../../../http/error-handler.ts'
import { isNavigation } from '../../../../http/navigation.ts'
import { renderErrorPage } from '../../../../pages/pages.ts'
import { handedOf } from '../browser.ts'
import { protocolPaths } from '../paths.ts'
import { patchAnswer } from './patch.ts'

/** The name that the protocol has for an error of ours (RFC 6749 sections 4.1.2.1 and 5.2). */
function protocolName({ statusCode }: HttpError): string {
  if (statusCode === 503 || statusCode === 429) return 'temporarily_unavailable'
  return statusCode >= 500 ? 'server_error' : 'invalid_request'
}

/** An error of ours in the protocol's shape. */
export const protocolError = (error: HttpError): { error: string; error_description: string } => ({
  error: protocolName(error),
  error_description: error.message,
})

/** Whether a person looks at the answer to a request: never at that of a program's endpoint. */
export const isSeen = (request: FastifyRequest): boolean =>
  request.routeOptions.config.access?.family !== 'none' && isNavigation(request)

const isNamedOnly = (body: unknown): body is { error: string; error_description?: string } =>
  typeof body === 'object' && body !== null && 'error' in body && !('error_description' in body)

/**
 * Answers what goes wrong inside the library as svc answers its own failures: 503 while the database is away, and of
 * anything else nothing but a name. The library would show its own words, and log nothing that fails after its answer.
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
      const { request, reply } = handedOf(ctx.req)
      // Of what the library does not support at all it gives the name alone.
      const { body }: { body?: unknown } = ctx
      if (isNamedOnly(body)) body.error_description = 'What was asked for is not supported.'
      const failure = failures.get(ctx)
      if (failure && isMissingUser(failure) && ctx.oidc?.route === 'token') {
        ctx.status = 400
        ctx.body = { error: 'invalid_grant', error_description: 'The account of the user was deleted.' }
        return undefined
      }
      if (failure) return answer(answerOf(failure, request))
      // What the library has no route for: another spelling of a path, or a method that is off.
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
        const { message, code } = error
        const body = ctx.routerName === undefined ? { message, code } : protocolError(error)
        ctx.body = isSeen(request) ? renderErrorPage(reply, error) : body
      }
    },
  )
  // What is left are answers that nobody waits for any more; the library would print them.
  provider.silent = true
}
