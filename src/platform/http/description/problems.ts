import { type TSchema, Type } from '../../json-schema.ts'
import { type SharedResponse, sharedResponse } from './shared-responses.ts'

const fields = {
  message: Type.String({ description: 'A message for people. Its wording may change.' }),
  code: Type.String({ description: 'A stable code for programs.' }),
}

const messagesByField = Type.Record(Type.String(), Type.Array(Type.String()), { description: 'Messages by field.' })

const Problem = Type.Object(
  { ...fields, errors: Type.Optional(messagesByField) },
  {
    title: 'Problem',
    description: 'An error.',
    examples: [{ message: 'Unauthenticated.', code: 'unauthenticated' }],
  },
)

const ValidationProblem = Type.Object(
  {
    ...fields,
    errors: Type.Optional(messagesByField),
    challenge: Type.Optional(
      Type.String({
        description: 'Continues a sign-in of an app that needs a second factor. Send it to `/svc/token` with `code`.',
      }),
    ),
  },
  {
    title: 'ValidationProblem',
    description: 'Invalid input.',
    examples: [
      {
        message: 'The email field is required.',
        code: 'validation_failed',
        errors: { email: ['The email field is required.'] },
      },
    ],
  },
)

/** The members that problem details add to an error (RFC 9457 section 3.1). */
const details = {
  type: Type.String({ format: 'uri', description: 'The code in the list of error codes.' }),
  title: Type.String({ description: 'The code in words.' }),
  status: Type.Integer({ description: 'The status of the response.' }),
  detail: Type.String({ description: 'A message for people. Its wording may change.' }),
  instance: Type.String({ format: 'uri', description: 'Identifies the request.' }),
}

const ProblemDetails = Type.Object(
  { ...details, code: fields.code, errors: Type.Optional(messagesByField) },
  { title: 'ProblemDetails', description: 'An error (RFC 9457).' },
)

const { message: _, ...validationMembers } = ValidationProblem.properties
const ValidationProblemDetails = Type.Object(
  { ...details, ...validationMembers },
  { title: 'ValidationProblemDetails', description: 'Invalid input (RFC 9457).' },
)

const problemDetails = new Map<TSchema, TSchema>([
  [Problem, ProblemDetails],
  [ValidationProblem, ValidationProblemDetails],
])

/** The media types of an error: clients choose one by `Accept`. */
const contentOf = (schema: TSchema, isPage: boolean): object => ({
  ...(isPage ? { 'text/html': { schema: { type: 'string' } } } : {}),
  'application/json': { schema },
  'application/problem+json': { schema: problemDetails.get(schema) },
})

const seconds = (description: string) => ({ type: 'integer', minimum: 0, description })
const retryAfter = { 'Retry-After': seconds('Seconds until a retry can succeed (RFC 9110 section 10.2.3).') }

/** Headers of error responses. */
export const errorHeaders = {
  challenge: {
    'WWW-Authenticate': { type: 'string', description: 'The challenge (RFC 6750 section 3, RFC 9449).' },
  },
  retryAfter,
  limit: {
    ...retryAfter,
    'X-RateLimit-Limit': seconds('The maximum number of requests in the window.'),
    'X-RateLimit-Remaining': seconds('The requests that remain in the window.'),
    'X-RateLimit-Reset': seconds('The time at which a retry can succeed, in Unix seconds.'),
  },
} as const

/** Error responses that operations share, by status. */
const problemResponses: Readonly<Record<number, SharedResponse>> = {
  400: { name: 'MalformedBody', description: 'The request body is malformed.', schema: Problem },
  401: {
    name: 'Unauthenticated',
    description: 'Not authenticated, or the token is invalid.',
    schema: Problem,
    headers: errorHeaders.challenge,
  },
  403: { name: 'Forbidden', description: 'The caller does not have permission.', schema: Problem },
  404: { name: 'NotFound', description: 'Not found.', schema: Problem },
  405: {
    name: 'MethodNotAllowed',
    description: 'The method is disabled.',
    schema: Problem,
    headers: { Allow: { type: 'string', description: 'The supported methods.' } },
  },
  409: { name: 'Conflict', description: 'The state of the account does not allow the request.', schema: Problem },
  412: { name: 'PreconditionFailed', description: 'The record changed after the client fetched it.', schema: Problem },
  413: { name: 'BodyTooLarge', description: 'The request body is too large.', schema: Problem },
  415: { name: 'UnsupportedMediaType', description: 'The content type is not supported.', schema: Problem },
  419: { name: 'CsrfMismatch', description: 'The CSRF token is missing or invalid.', schema: Problem },
  422: {
    name: 'ValidationFailed',
    description: 'The input is invalid. `errors` lists the messages by field.',
    schema: ValidationProblem,
  },
  423: {
    name: 'PasswordConfirmationRequired',
    description: 'The password must be confirmed first, with `POST /user/confirm-password`.',
    schema: Problem,
  },
  429: {
    name: 'TooManyRequests',
    description: 'Too many attempts. Retry after `Retry-After` seconds.',
    schema: Problem,
    headers: errorHeaders.limit,
  },
  503: {
    name: 'Unavailable',
    description: 'Temporarily unavailable. Retry after `Retry-After` seconds.',
    schema: Problem,
    headers: retryAfter,
  },
}

/** The errors of a page that differ only in their status. */
const errorPage = {
  name: 'ErrorPage',
  description: 'The request failed. Browsers get a page, other clients the error as JSON.',
  schema: Problem,
}

/** Returns the response schema of an error status. Browsers get a page from routes that they open. */
export function problemResponse(status: number, isPage: boolean): TSchema {
  const shared = problemResponses[status]
  if (!shared) throw new Error(`The API description has no response for the error status ${status}.`)
  const content = contentOf(shared.schema, isPage)
  if (!isPage) return sharedResponse({ ...shared, content })
  if (shared.headers || shared.schema !== Problem)
    return sharedResponse({ ...shared, name: `${shared.name}Page`, content })
  return sharedResponse({ ...errorPage, content })
}
