/** Meaning of an error code, and how the client handles it. `docs/errors.md` lists all codes. */
export interface ErrorDescription {
  status: number | readonly number[]
  meaning: string
  remedy: string
}

/** Error codes in response bodies. Clients compare them, so they never change. */
export const errorCatalogue = {
  unauthenticated: {
    status: 401,
    meaning: 'The request has no valid session or token, or its token requires a stronger or more recent sign-in.',
    remedy: 'Sign in again. The header `WWW-Authenticate` says what the token lacks.',
  },
  forbidden: {
    status: 403,
    meaning: 'The caller is signed in but is not allowed to do this.',
    remedy: 'Use an account or a kind of credential with this right.',
  },
  invalid_ability: {
    status: 403,
    meaning: 'The token does not have the ability that the route requires.',
    remedy: 'Create a token with the ability.',
  },
  email_unverified: {
    status: [403, 422],
    meaning: 'The email address, at svc or at the identity provider, is not verified.',
    remedy: 'Follow the link in the verification mail. `POST /email/verification-notification` sends another one.',
  },
  second_factor_required: {
    status: 403,
    meaning:
      'The guard, a decision hook or the admin pages require a second factor, and the user signed in without one.',
    remedy: 'Sign in again with a second factor or a passkey.',
  },
  invalid_original_request: {
    status: 400,
    meaning:
      'The guard cannot tell which request a proxy asks about, or servers could read its path in different ways.',
    remedy: 'The message names the part. Compare the configuration of the proxy with docs/proxies.',
  },
  not_found: {
    status: 404,
    meaning: 'The route or the record does not exist, or it belongs to another user.',
    remedy: 'Check the path. List the records to get valid ids.',
  },
  method_not_allowed: {
    status: 405,
    meaning: 'The route does not support the method.',
    remedy: 'Use a method that the header `Allow` lists.',
  },
  already_signed_in: {
    status: 409,
    meaning: 'The browser is signed in, and the route is for guests.',
    remedy: 'Sign out first.',
  },
  no_pending_sign_in: {
    status: 409,
    meaning: 'No sign-in of this browser is waiting for a second factor, or it has expired.',
    remedy: 'Sign in again.',
  },
  no_current_token: {
    status: 409,
    meaning: 'The request was authenticated by a session, so it has no token to revoke.',
    remedy: 'Send the token as bearer, or revoke it by its id.',
  },
  precondition_failed: {
    status: 412,
    meaning: 'The record is not the version that `If-Match` names.',
    remedy: 'Fetch the record again, and repeat the change with its `ETag`.',
  },
  idempotency_key_reused: {
    status: 422,
    meaning:
      'An earlier request of the caller had the same `Idempotency-Key` and another body, or its record was deleted since.',
    remedy: 'Use a new key for each new request.',
  },
  malformed_body: {
    status: 400,
    meaning: 'svc cannot parse the request or its body.',
    remedy: 'Send valid JSON or form fields, with a matching `Content-Type`.',
  },
  body_too_large: {
    status: 413,
    meaning: 'The body is larger than the route accepts.',
    remedy: 'Send at most 100 KB.',
  },
  unsupported_media_type: {
    status: 415,
    meaning: 'The route does not accept the content type of the body.',
    remedy: 'Send `application/json` or `application/x-www-form-urlencoded`.',
  },
  csrf_mismatch: {
    status: 419,
    meaning: 'The CSRF token is missing, belongs to another session, or comes from another site.',
    remedy: 'Fetch `/svc/csrf-cookie`, and repeat the request with the header `X-XSRF-TOKEN`.',
  },
  validation_failed: {
    status: 422,
    meaning: 'The input is invalid. `errors` lists the messages by field.',
    remedy: 'Show the messages at the fields, and send corrected input.',
  },
  invalid_credentials: {
    status: [401, 422],
    meaning: 'No account has this address and password.',
    remedy: 'Let the user correct them, or reset the password.',
  },
  two_factor_required: {
    status: [401, 422],
    meaning: 'The first factor was right. The account has a second factor, which is missing.',
    remedy:
      'Ask for the code. Send it to `/two-factor-challenge`, or to `/svc/token` with `challenge`, or the password again.',
  },
  challenge_expired: {
    status: 422,
    meaning: 'The sign-in that waits for its second factor is unknown or took longer than ten minutes.',
    remedy: 'Start again with the first factor.',
  },
  password_confirmation_required: {
    status: 423,
    meaning: 'The route requires a recent confirmation of the password.',
    remedy: 'Confirm with `POST /user/confirm-password`, a passkey or a provider, and repeat the request.',
  },
  too_many_requests: {
    status: 429,
    meaning: 'A limit of this route, account or address is reached.',
    remedy: 'Wait for the seconds in `Retry-After`.',
  },
  server_error: {
    status: 500,
    meaning: 'An unexpected error. The log has its cause under the request id.',
    remedy: 'Report it to the operator of svc.',
  },
  unavailable: {
    status: 503,
    meaning: 'The database, the queue of password checks or a decision hook is unavailable.',
    remedy: 'Repeat the request after the seconds in `Retry-After`.',
  },
} as const satisfies Record<string, ErrorDescription>

type ErrorCatalogue = Readonly<Record<string, ErrorDescription>>

/** An error code with every status that it can have. */
export interface DescribedError extends ErrorDescription {
  code: string
  status: readonly number[]
}

/** Merges catalogues, sorted by code. A feature may add another meaning to a code of the base catalogue. */
export function describeErrors(catalogues: readonly ErrorCatalogue[]): DescribedError[] {
  const described = new Map<string, DescribedError>()
  for (const [code, { status, meaning, remedy }] of catalogues.flatMap((codes) => Object.entries(codes))) {
    const known = described.get(code) ?? { code, status: [], meaning, remedy }
    const statuses = new Set([...known.status, ...[status].flat()])
    described.set(code, { ...known, status: [...statuses].sort((a, b) => a - b) })
  }
  return [...described.values()].sort((a, b) => (a.code < b.code ? -1 : 1))
}

type KernelCodes = Record<keyof typeof errorCatalogue, true>

/**
 * All error codes. Features add their own.
 * @public
 */
export interface ErrorCodes extends KernelCodes {}

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

/** The session began without a second factor. */
export const secondFactorRequired = (): HttpError =>
  new HttpError(403, 'second_factor_required', 'A second factor is required.')

/** Tests for an error after which the user should sign in. */
export const needsSignIn = ({ code, statusCode }: HttpError): boolean =>
  statusCode === 401 && (code === 'unauthenticated' || code === 'session_unbound')

/** The sign-in needs a code of the second factor: 422, or 401 for a session that waits for one. */
export function secondFactorMissing(status: 401 | 422, options: Pick<HttpErrorOptions, 'challenge'> = {}): HttpError {
  const text = 'Enter the code of your second factor.'
  const more = status === 401 ? { headers: { 'www-authenticate': 'Bearer' } } : { errors: { code: [text] } }
  return new HttpError(status, 'two_factor_required', text, { ...options, ...more })
}

/** 422 for a sign-in that does not wait for a second factor any more; `field` gets the message. */
export function challengeExpired(field: 'challenge' | 'code'): HttpError {
  const text = 'The challenge is invalid or has expired.'
  return new HttpError(422, 'challenge_expired', text, { errors: { [field]: [text] } })
}

/** 403 until the user verifies the email address. */
export const emailUnverified = (): HttpError =>
  new HttpError(403, 'email_unverified', 'Your email address is not verified.')

/** 503 with `Retry-After` in seconds. The cause is logged, never shown. */
export const unavailable = (cause?: unknown, retryAfter = 1): HttpError =>
  new HttpError(503, 'unavailable', 'The service is temporarily unavailable. Please try again.', {
    headers: { 'retry-after': String(retryAfter) },
    cause,
  })

/** Tests for an error of `unavailable`. An unavailable database has errors of its own. */
export const isServiceUnavailable = (error: unknown): error is HttpError =>
  error instanceof HttpError && error.code === 'unavailable'

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
