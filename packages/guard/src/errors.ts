import { proofAlgorithms } from './dpop.ts'

/** Codes in the bodies of answers. svc uses the same codes. */
export type GuardErrorCode = 'invalid_request' | 'unauthenticated' | 'invalid_ability' | 'forbidden' | 'unavailable'

/** A rejected request: everything that an adapter needs for its answer. */
export class GuardError extends Error {
  readonly status: 400 | 401 | 403 | 503
  readonly code: GuardErrorCode
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: GuardError['status'],
    code: GuardErrorCode,
    message: string,
    headers: Record<string, string> = {},
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'GuardError'
    this.status = status
    this.code = code
    this.headers = { 'cache-control': 'no-store', 'content-type': 'application/json; charset=utf-8', ...headers }
  }

  /** The JSON body of the answer, in the form of svc's own errors. */
  get body(): string {
    return JSON.stringify({ message: this.message, code: this.code })
  }
}

/** 503: the guard needs svc for the decision, but svc did not answer. `retryAfter` is in seconds. */
export const unavailable = (cause: unknown, retryAfter = 1): GuardError =>
  new GuardError(
    503,
    'unavailable',
    'The authentication service is temporarily unavailable. Please try again.',
    { 'retry-after': String(retryAfter) },
    cause,
  )

/** Answers with `WWW-Authenticate` (RFC 6750 section 3, RFC 9728 section 5.1). */
export class Challenges {
  readonly #parameters: string[]

  constructor(metadataUrl: string | null) {
    this.#parameters = metadataUrl === null ? [] : [`resource_metadata="${metadataUrl}"`]
  }

  /** The request has no bearer token, so the challenge has no error code. */
  missing(): GuardError {
    return new GuardError(401, 'unauthenticated', 'Unauthenticated.', this.#challenge())
  }

  /** The description is a fixed text of this package. It contains no part of the token. */
  invalidToken(description: string, cause?: unknown): GuardError {
    const headers = this.#challenge('error="invalid_token"', `error_description="${description}"`)
    return new GuardError(401, 'unauthenticated', 'Unauthenticated.', headers, cause)
  }

  invalidRequest(description: string): GuardError {
    const headers = this.#challenge('error="invalid_request"', `error_description="${description}"`)
    return new GuardError(400, 'invalid_request', description, headers)
  }

  /** The token is bound to a key, and the request does not prove to have it (RFC 9449 section 7.1). */
  invalidProof(): GuardError {
    const challenge = `DPoP error="invalid_dpop_proof", algs="${proofAlgorithms.join(' ')}"`
    return new GuardError(401, 'unauthenticated', 'Unauthenticated.', { 'www-authenticate': challenge })
  }

  insufficientScope(scopes: readonly string[]): GuardError {
    const headers = this.#challenge('error="insufficient_scope"', `scope="${scopes.join(' ')}"`)
    return new GuardError(403, 'invalid_ability', 'The token does not have the required ability.', headers)
  }

  /** The user must sign in with a second factor (RFC 9470 section 3). */
  weakSignIn(): GuardError {
    const description = 'The user must sign in with a second factor'
    const reason = ['error="insufficient_user_authentication"', `error_description="${description}"`]
    return new GuardError(401, 'unauthenticated', `${description}.`, this.#challenge(...reason, 'acr_values="2 phr"'))
  }

  #challenge(...parameters: string[]): Record<string, string> {
    return { 'www-authenticate': `Bearer ${[...parameters, ...this.#parameters].join(', ')}`.trim() }
  }
}

/** 403 for a role. No other token of the same user would help, so there is no challenge. */
export const forbidden = (): GuardError => new GuardError(403, 'forbidden', 'Forbidden')
