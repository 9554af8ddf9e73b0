/** Messages by field name. */
export type FieldErrors = Record<string, string[]>

/** What svc answered. */
export interface ErrorFacts {
  status: number
  code: string
  message: string
  errors?: FieldErrors | undefined
  retryAfter?: number | undefined
  challenge?: string | undefined
  headers?: Headers | undefined
}

/**
 * An error response of svc. `code` is stable; svc lists the codes at `/errors`.
 * `errors` has the messages by field, where svc names fields.
 */
export class SvcError extends Error {
  override name = 'SvcError'
  readonly status: number
  readonly code: string
  readonly errors: FieldErrors
  /** Headers of the response, if there was one. */
  readonly headers: Headers | undefined
  /**
   * After a sign-in whose proof works once: send it to `POST /svc/token` with the code of the second factor, or with `terms`.
   */
  readonly challenge: string | undefined

  constructor({ status, code, message, errors, headers, challenge }: ErrorFacts, options?: ErrorOptions) {
    super(message, options)
    this.status = status
    this.code = code
    this.errors = errors ?? {}
    this.headers = headers
    this.challenge = challenge
  }

  /** The first message of a field, for a form. */
  first(field: string): string | undefined {
    return this.errors[field]?.[0]
  }
}

/** svc did not answer: no network, a wrong base URL, or a page that CORS does not allow. `status` is 0. */
export class NetworkError extends SvcError {
  override name = 'NetworkError'

  constructor(cause: unknown) {
    const facts = {
      status: 0,
      code: 'network_error',
      message: 'svc is not reachable, or CORS does not allow this page.',
    }
    super(facts, { cause })
  }
}

/** 401: not authenticated, or the credentials of a sign-in are wrong. `errors` then has the message for the form. */
export class UnauthorizedError extends SvcError {
  override name = 'UnauthorizedError'
}

/** 403: authenticated, but not allowed. */
export class ForbiddenError extends SvcError {
  override name = 'ForbiddenError'
}

/** 403 `email_unverified`: the user must follow the link in the verification mail first. */
export class EmailUnverifiedError extends ForbiddenError {
  override name = 'EmailUnverifiedError'
}

/**
 * 403 for a session, 422 for the sign-in of an app: the user must accept the terms of `GET /terms` first. Accept them with
 * `POST /user/terms`, or with `terms` in the sign-in.
 */
export class TermsNotAcceptedError extends SvcError {
  override name = 'TermsNotAcceptedError'
}

/** 404: no such route or record, or the feature is disabled. */
export class NotFoundError extends SvcError {
  override name = 'NotFoundError'
}

/** 419: the CSRF check failed twice, although the client fetched a new token. */
export class CsrfMismatchError extends SvcError {
  override name = 'CsrfMismatchError'
}

/** 422: invalid input. `errors` has the messages by field. */
export class ValidationError extends SvcError {
  override name = 'ValidationError'
}

/** 422: a sign-in without a session requires `code` or `recovery_code` too. */
export class TwoFactorRequiredError extends ValidationError {
  override name = 'TwoFactorRequiredError'
}

/** 423: the user must confirm the password, a passkey or a mailed code. Then repeat the request. */
export class PasswordConfirmationRequiredError extends SvcError {
  override name = 'PasswordConfirmationRequiredError'
}

/** An error with the time to wait before the next try. */
class RetryableError extends SvcError {
  /** Seconds to wait before the next try. */
  readonly retryAfter: number

  constructor(facts: ErrorFacts) {
    super(facts)
    this.retryAfter = facts.retryAfter ?? 1
  }
}

/** 429: too many requests. */
export class RateLimitedError extends RetryableError {
  override name = 'RateLimitedError'
}

/** 503: svc is overloaded, or its database is unavailable. */
export class UnavailableError extends RetryableError {
  override name = 'UnavailableError'
}

/** Why a passkey ceremony failed in the browser. */
export type PasskeyFailure = 'cancelled' | 'timed_out' | 'already_registered' | 'not_supported' | 'failed'

/** The browser did not create or use a passkey. svc was not involved: `status` is 0, `code` is `passkey_<reason>`. */
export class PasskeyError extends SvcError {
  override name = 'PasskeyError'
  readonly reason: PasskeyFailure

  constructor(reason: PasskeyFailure, message: string, cause?: unknown) {
    super({ status: 0, code: `passkey_${reason}`, message }, { cause })
    this.reason = reason
  }
}

const byStatus: Readonly<Record<number, new (facts: ErrorFacts) => SvcError>> = {
  401: UnauthorizedError,
  403: ForbiddenError,
  404: NotFoundError,
  419: CsrfMismatchError,
  422: ValidationError,
  423: PasswordConfirmationRequiredError,
  429: RateLimitedError,
  503: UnavailableError,
}

/** Builds the error of a response. The body may be anything, because a proxy may have answered. */
export function errorOf(status: number, headers: Headers, body: unknown): SvcError {
  const fields = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {}
  const text = (name: string) => (typeof fields[name] === 'string' ? fields[name] : undefined)
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  const facts: ErrorFacts = {
    status,
    // The OAuth endpoints answer `{error, error_description}`.
    code: text('code') ?? text('error') ?? 'unknown',
    message: text('message') ?? text('error_description') ?? `The server answered ${status}.`,
    errors: fieldErrors(fields.errors),
    retryAfter: Number.isFinite(seconds) ? seconds : undefined,
    challenge: text('challenge'),
    headers,
  }
  if (status === 403 && facts.code === 'email_unverified') return new EmailUnverifiedError(facts)
  if (facts.code === 'terms_not_accepted') return new TermsNotAcceptedError(facts)
  if (status === 422 && facts.challenge !== undefined) return new TwoFactorRequiredError(facts)
  return new (byStatus[status] ?? SvcError)(facts)
}

function fieldErrors(value: unknown): FieldErrors | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const entries = Object.entries(value).filter(([, messages]) => Array.isArray(messages))
  return Object.fromEntries(entries.map(([field, messages]) => [field, messages.map(String)]))
}
