/**
 * Error codes in response bodies. Clients compare them, so they never change. Features declare their own.
 * @public
 */
export interface ErrorCodes {
  unauthenticated: true
  forbidden: true
  invalid_ability: true
  email_unverified: true
  not_found: true
  method_not_allowed: true
  already_signed_in: true
  csrf_mismatch: true
  validation_failed: true
  password_confirmation_required: true
  too_many_requests: true
  no_current_token: true
  malformed_body: true
  unsupported_media_type: true
  body_too_large: true
  unavailable: true
  server_error: true
}

export type ErrorCode = keyof ErrorCodes

/** Messages by field name, in rule order. */
export type FieldErrors = Record<string, string[]>

interface HttpErrorOptions {
  headers?: Record<string, string>
  errors?: FieldErrors
  /** Challenge token for the second-factor step. */
  challenge?: string
  cause?: unknown
}

/** Error with a response that is safe to show to the caller. The error handler renders it. */
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

/** 401 for a missing credential, or (`invalid`) for an invalid bearer token (RFC 6750 section 3). */
export const unauthenticated = (bearer: 'absent' | 'invalid' = 'absent'): HttpError =>
  new HttpError(401, 'unauthenticated', 'Unauthenticated.', {
    headers: { 'www-authenticate': bearer === 'invalid' ? 'Bearer error="invalid_token"' : 'Bearer' },
  })

/** 401 for a token that requires a stronger or more recent sign-in (RFC 9470 section 3). */
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

/** 403 from an authorization check. */
export const forbidden = (): HttpError => new HttpError(403, 'forbidden', 'Forbidden')

/** 403 from an ability check. It does not reveal the missing ability. */
export const invalidAbility = (): HttpError => new HttpError(403, 'invalid_ability', 'Invalid ability provided.')

/** 404 for an unknown path or resource. */
export const notFound = (message = 'Not found.'): HttpError => new HttpError(404, 'not_found', message)

/** 405 with the allowed methods (RFC 9110 section 15.5.6). */
export const methodNotAllowed = (allowed: readonly string[]): HttpError =>
  new HttpError(405, 'method_not_allowed', 'Method not allowed.', { headers: { allow: allowed.join(', ') } })

/** 419: the status that Laravel clients expect. */
export const csrfMismatch = (): HttpError => new HttpError(419, 'csrf_mismatch', 'CSRF token mismatch.')

/** 423 when the password was not confirmed recently: the status that Laravel clients expect. */
export const passwordConfirmationRequired = (): HttpError =>
  new HttpError(423, 'password_confirmation_required', 'Password confirmation required.')

/** 403 until the user verifies the email address. */
export const emailUnverified = (): HttpError =>
  new HttpError(403, 'email_unverified', 'Your email address is not verified.')

/** 503 with `Retry-After` in seconds. The cause is logged, never shown. */
export const unavailable = (cause?: unknown, retryAfter = 1): HttpError =>
  new HttpError(503, 'unavailable', 'The service is temporarily unavailable. Please try again.', {
    headers: { 'retry-after': String(retryAfter) },
    cause,
  })

/** 422 with all messages by field; `message` is the first one and the count of the others. */
export function validationFailed(errors: FieldErrors, options: Pick<HttpErrorOptions, 'challenge'> = {}): HttpError {
  const texts = Object.values(errors).flat()
  const more = texts.length - 1
  const rest = more > 0 ? ` (and ${more} more error${more === 1 ? '' : 's'})` : ''
  return new HttpError(422, 'validation_failed', `${texts[0] ?? 'The given data was invalid.'}${rest}`, {
    ...options,
    errors,
  })
}
