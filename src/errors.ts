/** The closed vocabulary of `code` in error bodies. */
export type ErrorCode =
  | 'unauthenticated'
  | 'forbidden'
  | 'invalid_ability'
  | 'email_unverified'
  | 'not_found'
  | 'method_not_allowed'
  | 'already_signed_in'
  | 'csrf_mismatch'
  | 'validation_failed'
  | 'password_confirmation_required'
  | 'too_many_requests'
  | 'no_current_token'
  | 'malformed_body'
  | 'unsupported_media_type'
  | 'body_too_large'
  | 'unavailable'
  | 'server_error'
  // Of sign-ins by other providers.
  | 'access_denied'
  | 'invalid_state'
  | 'expired'
  | 'provider_error'
  | 'email_missing'
  | 'account_exists'
  | 'registration_disabled'

/** Field name → texts, in the order of the rules. */
export type FieldErrors = Record<string, string[]>

interface HttpErrorOptions {
  headers?: Record<string, string>
  errors?: FieldErrors
  /** What lets the caller go on with a second factor. */
  challenge?: string
  cause?: unknown
}

/** What may be shown to the caller: thrown by hooks and handlers, rendered by the one error handler. */
export class HttpError extends Error {
  readonly statusCode: number
  readonly code: ErrorCode
  readonly headers: Record<string, string>
  readonly errors: FieldErrors | undefined
  readonly challenge: string | undefined

  constructor(statusCode: number, code: ErrorCode, message: string, options: HttpErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.statusCode = statusCode
    this.code = code
    this.headers = options.headers ?? {}
    this.errors = options.errors
    this.challenge = options.challenge
  }
}

/** 401: no credential, or (`invalid`) a bearer that is not good (RFC 6750 section 3). */
export const unauthenticated = (bearer: 'absent' | 'invalid' = 'absent'): HttpError =>
  new HttpError(401, 'unauthenticated', 'Unauthenticated.', {
    headers: { 'www-authenticate': bearer === 'invalid' ? 'Bearer error="invalid_token"' : 'Bearer' },
  })

/** 401 of a token whose user must sign in again, stronger or later (RFC 9470 section 3). */
export function insufficientSignIn(
  scheme: 'Bearer' | 'DPoP',
  asked: { acrValues: readonly string[]; maxAgeSeconds: number | null },
): HttpError {
  const acr = asked.acrValues.length > 0 ? `, acr_values="${asked.acrValues.join(' ')}"` : ''
  const age = asked.maxAgeSeconds === null ? '' : `, max_age="${asked.maxAgeSeconds}"`
  return new HttpError(401, 'unauthenticated', 'A stronger or more recent sign-in is required.', {
    headers: { 'www-authenticate': `${scheme} error="insufficient_user_authentication"${acr}${age}` },
  })
}

/** 403 of a manual check. */
export const forbidden = (): HttpError => new HttpError(403, 'forbidden', 'Forbidden')

/** 403 of the ability middlewares; which ability is missing is not told. */
export const invalidAbility = (): HttpError => new HttpError(403, 'invalid_ability', 'Invalid ability provided.')

/** 404 of an unknown path or record. */
export const notFound = (message = 'Not found.'): HttpError => new HttpError(404, 'not_found', message)

/** 405 with the methods that the path has (RFC 9110 section 15.5.6). */
export const methodNotAllowed = (allowed: readonly string[]): HttpError =>
  new HttpError(405, 'method_not_allowed', 'Method not allowed.', { headers: { allow: allowed.join(', ') } })

/** 419, the status that clients of this contract test for. */
export const csrfMismatch = (): HttpError => new HttpError(419, 'csrf_mismatch', 'CSRF token mismatch.')

/** 423 where the password must have been confirmed lately; the status that clients of this contract test for. */
export const passwordConfirmationRequired = (): HttpError =>
  new HttpError(423, 'password_confirmation_required', 'Password confirmation required.')

/** 403 of an account whose address must be verified first. */
export const emailUnverified = (): HttpError =>
  new HttpError(403, 'email_unverified', 'Your email address is not verified.')

/** 429 with the seconds to wait, and the field the clients show it at. */
export const tooManyRequests = (message: string, retryAfter: number, options: HttpErrorOptions = {}): HttpError =>
  new HttpError(429, 'too_many_requests', message, {
    ...options,
    headers: { ...options.headers, 'retry-after': String(retryAfter) },
  })

/** 503 with the seconds after which to try again; the cause is logged, never shown. */
export const unavailable = (cause?: unknown, retryAfter = 1): HttpError =>
  new HttpError(503, 'unavailable', 'The service is temporarily unavailable. Please try again.', {
    headers: { 'retry-after': String(retryAfter) },
    cause,
  })

/** 422 with every text of every field; `message` is the first text and a count of the others. */
export function validationFailed(errors: FieldErrors, options: Pick<HttpErrorOptions, 'challenge'> = {}): HttpError {
  const texts = Object.values(errors).flat()
  const more = texts.length - 1
  const rest = more > 0 ? ` (and ${more} more error${more === 1 ? '' : 's'})` : ''
  return new HttpError(422, 'validation_failed', `${texts[0] ?? 'The given data was invalid.'}${rest}`, {
    ...options,
    errors,
  })
}
