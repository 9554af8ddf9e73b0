import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import type { HttpError } from '../errors.ts'

const problemType = 'application/problem+json'

/** The body of an error response, with its media type. */
interface ErrorBody {
  type: string
  body: object
}

/** Tests whether the client prefers RFC 9457 to plain JSON. Only a client that names the type does. */
function wantsProblem({ raw }: FastifyRequest): boolean {
  if (!raw.headers.accept?.toLowerCase().includes(problemType)) return false
  return new Negotiator(raw).mediaType(['application/json', problemType]) === problemType
}

/** Returns the title of an error code: `CSRF mismatch` for `csrf_mismatch`. */
export function errorTitle(code: string): string {
  const words = code.replaceAll('_', ' ').replace(/\bcsrf\b/, 'CSRF')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Returns the body of an error: `{message, code}`, or problem details (RFC 9457) if the client prefers them. */
export function errorBody(error: HttpError, request: FastifyRequest): ErrorBody {
  const { message, code, statusCode: status, errors, challenge } = error
  const more = { ...(errors ? { errors } : {}), ...(challenge ? { challenge } : {}) }
  if (!wantsProblem(request)) return { type: 'application/json; charset=utf-8', body: { message, code, ...more } }
  const page = `${request.server.config.current().app.url}/errors`
  const body = {
    type: `${page}#${code}`,
    title: errorTitle(code),
    status,
    detail: message,
    instance: `${page}?request=${request.id}`,
    code,
    ...more,
  }
  return { type: problemType, body }
}
