import { HttpError } from '../../errors.ts'

declare module '../../errors.ts' {
  interface ErrorCodes {
    access_denied: true
    invalid_state: true
    expired: true
    provider_error: true
    email_missing: true
    account_exists: true
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
  | 'registration_disabled'

const answers: Record<SocialFailure, [number, string]> = {
  access_denied: [400, 'Access was denied.'],
  invalid_state: [400, 'This sign-in was not started in this browser, or is already completed. Please try again.'],
  expired: [400, 'This sign-in has expired. Please try again.'],
  provider_error: [400, 'The identity provider could not complete the sign-in. Please try again.'],
  email_missing: [422, 'The identity provider did not return an email address.'],
  email_unverified: [422, 'The email address at the identity provider is not verified.'],
  account_exists: [409, 'Another account uses this email address or this identity. Use another sign-in method.'],
  registration_disabled: [403, 'There is no account for this identity, and registration is disabled.'],
}

/** Creates the error of a failure; `cause` is only logged. */
export function socialFailure(code: SocialFailure, cause?: unknown): HttpError {
  const [status, message] = answers[code]
  return new HttpError(status, code, message, { cause })
}

/** Tests for a known error code in a URL. */
export const isSocialFailure = (text: unknown): text is SocialFailure =>
  typeof text === 'string' && Object.hasOwn(answers, text)

/** An error code of the protocol (RFC 6749 section 5.2); other provider text is not logged. */
const protocolCode = /^[a-z_]{1,40}$/

/** Reason for the log: kind and codes, without other text from the provider. */
export function reasonOf(cause: unknown): string | null {
  if (cause === undefined) return null
  if (typeof cause === 'string') return cause
  if (!(cause instanceof Error)) return 'unknown'
  const code = 'code' in cause && typeof cause.code === 'string' ? ` (${cause.code})` : ''
  const told = 'error' in cause && typeof cause.error === 'string' && protocolCode.test(cause.error)
  const error = told ? ` ${cause.error}` : ''
  const inner = cause.cause instanceof Error ? `: ${messageOf(cause.cause)}` : ''
  return `${cause.name}${code}: ${messageOf(cause)}${error}${inner}`.slice(0, 200)
}

/** The message, unless it quotes an unreadable response, which may contain a token. */
const messageOf = (error: Error): string => (error instanceof SyntaxError ? 'invalid JSON' : error.message)
