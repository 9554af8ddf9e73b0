import { type ErrorDescription, HttpError } from '../../platform/errors.ts'

declare module '../../platform/errors.ts' {
  interface ErrorCodes {
    access_denied: true
    invalid_state: true
    expired: true
    provider_error: true
    email_missing: true
    account_exists: true
    email_domain_not_allowed: true
    registration_disabled: true
  }
}

/** Error codes of a social login. */
export type SocialFailure =
  | 'access_denied'
  | 'invalid_state'
  | 'expired'
  | 'provider_error'
  | 'email_missing'
  | 'email_unverified'
  | 'account_exists'
  | 'email_domain_not_allowed'
  | 'registration_disabled'

interface Failure extends ErrorDescription {
  status: number
  /** The message in the response. */
  message: string
}

const failures: Record<SocialFailure, Failure> = {
  access_denied: {
    status: 400,
    message: 'Access was denied.',
    meaning: 'The user or the identity provider denied access.',
    remedy: 'Offer another try or another sign-in method.',
  },
  invalid_state: {
    status: 400,
    message: 'This sign-in was not started in this browser, or is already completed. Please try again.',
    meaning: 'The callback does not belong to a sign-in that this browser started.',
    remedy: 'Start again with `GET /auth/{provider}/redirect`.',
  },
  expired: {
    status: 400,
    message: 'This sign-in has expired. Please try again.',
    meaning: 'The user took too long at the identity provider.',
    remedy: 'Start again with `GET /auth/{provider}/redirect`.',
  },
  provider_error: {
    status: 400,
    message: 'The identity provider could not complete the sign-in. Please try again.',
    meaning: 'The identity provider answered with an error, or its answer is invalid. The log has the reason.',
    remedy: 'Try again. If it persists, check the configuration of the provider.',
  },
  email_missing: {
    status: 422,
    message: 'The identity provider did not return an email address.',
    meaning: 'The account at the identity provider has no email address, or its scope is missing.',
    remedy: 'Add an email address at the provider, or the scope in the configuration.',
  },
  email_unverified: {
    status: 422,
    message: 'The email address at the identity provider is not verified.',
    meaning: 'The identity provider did not verify the email address.',
    remedy: 'Verify the address at the provider.',
  },
  account_exists: {
    status: 409,
    message: 'Another account uses this email address or this identity. Use another sign-in method.',
    meaning: 'An account with this address or identity exists, and is not linked to it.',
    remedy: 'Sign in another way, and link the provider with `POST /user/social-accounts/{provider}`.',
  },
  email_domain_not_allowed: {
    status: 422,
    message: 'New accounts cannot use an email address at this domain.',
    meaning: 'The identity has no account, and `registration.allowed_domains` does not have the domain of its address.',
    remedy: 'Use an identity with an address of an allowed domain, or ask the operator for an invitation.',
  },
  registration_disabled: {
    status: 403,
    message: 'There is no account for this identity, and registration is disabled.',
    meaning: 'The identity has no account, and `registration` is disabled.',
    remedy: 'Ask the operator for an account.',
  },
}

/** The error codes of this feature. */
export const socialErrors: Readonly<Record<string, ErrorDescription>> = failures

/** Creates the error of a failure; `cause` is only logged. */
export function socialFailure(code: SocialFailure, cause?: unknown): HttpError {
  const { status, message } = failures[code]
  return new HttpError(status, code, message, { cause })
}

/** Tests for a known error code in a URL. */
export const isSocialFailure = (text: unknown): text is SocialFailure =>
  typeof text === 'string' && Object.hasOwn(failures, text)

/** An error code or a short name of an error. Other text of a provider is not logged, because it may contain a token. */
export const providerCode = /^[A-Za-z_ ]{1,40}(?: \d{1,10})?$/

/** Reason for the log: kind and codes, without other text from the provider. */
export function reasonOf(cause: unknown): string | null {
  if (cause === undefined) return null
  if (typeof cause === 'string') return cause
  if (!(cause instanceof Error)) return 'unknown'
  const code = 'code' in cause && typeof cause.code === 'string' ? ` (${cause.code})` : ''
  const told = 'error' in cause && typeof cause.error === 'string' && providerCode.test(cause.error)
  const error = told ? ` ${cause.error}` : ''
  const inner = cause.cause instanceof Error ? `: ${messageOf(cause.cause)}` : ''
  return `${cause.name}${code}: ${messageOf(cause)}${error}${inner}`.slice(0, 200)
}

/** The message, unless it quotes an unreadable response, which may contain a token. */
const messageOf = (error: Error): string => (error instanceof SyntaxError ? 'invalid JSON' : error.message)
