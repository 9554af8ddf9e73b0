import type { FastifyReply, FastifyRequest } from 'fastify'
import { isMissingUser } from '../database/missing-user.ts'
import { isUnavailable } from '../database/unavailable.ts'
import { type ErrorCode, HttpError, unauthenticated, unavailable } from '../errors.ts'
import { translateErrors, translateMessage } from '../languages/api-messages.ts'
import { languageOf } from './language.ts'
import { errorBody } from './problem-details.ts'
import { textsOf } from './texts.ts'
import { varyBy } from './vary.ts'

/** Response codes and messages of the framework's own errors. */
const frameworkErrors: Record<number, [ErrorCode, string]> = {
  400: ['malformed_body', 'The request body is invalid.'],
  404: ['not_found', 'Not found.'],
  413: ['body_too_large', 'The request body is too large.'],
  414: ['not_found', 'Not found.'],
  415: ['unsupported_media_type', 'The content type of the request body is not supported. Send application/json.'],
}

/** An error from a handler. Framework errors have a status. */
type Failure = Error & { statusCode?: number | undefined }

/** Converts an error to one that is safe to show; hides everything about unexpected errors. */
function safeError(error: Failure): HttpError {
  if (error instanceof HttpError) return error
  if (isUnavailable(error)) return unavailable(error)
  if (isMissingUser(error)) return unauthenticated()
  const known = frameworkErrors[error.statusCode ?? 500]
  if (known) return new HttpError(error.statusCode ?? 500, ...known)
  if (error.statusCode === 503) return unavailable(error)
  return new HttpError(500, 'server_error', 'Server Error', { cause: error })
}

/** Sends an error in the format that the client accepts. */
export function sendError(reply: FastifyReply, error: HttpError): FastifyReply {
  const isTranslated = reply.request.server.config.current().i18n.api
  const { type, body } = errorBody(isTranslated ? translated(error, reply) : error, reply.request)
  return (
    varyBy(reply, 'Accept')
      .code(error.statusCode)
      // Set here too, for requests rejected before any hook runs.
      .headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...error.headers })
      .type(type)
      .serializer(JSON.stringify)
      .send(body)
  )
}

/** The error with its messages in the language of the request. */
function translated(error: HttpError, reply: FastifyReply): HttpError {
  const text = textsOf(reply.request)
  varyBy(reply, 'Accept-Language').header('content-language', languageOf(reply.request))
  const { statusCode, code, message, headers, errors, challenge, cause } = error
  return new HttpError(statusCode, code, translateMessage(message, text), {
    headers,
    ...(errors && { errors: translateErrors(errors, text) }),
    ...(challenge !== undefined && { challenge }),
    cause,
  })
}

/** Returns the response for an error. Errors with status 5xx are logged. */
export function answerOf(error: Failure, request: FastifyRequest): HttpError {
  const answer = safeError(error)
  if (answer.statusCode >= 500) {
    const cause = answer.cause ?? error
    request.log[answer.statusCode === 503 ? 'warn' : 'error']({ err: cause }, answer.message)
  }
  return answer
}
