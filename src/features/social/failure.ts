import { HttpError } from '../../errors.ts'

/** Why a social login came to nothing. */
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
  invalid_state: [400, 'This sign-in was not begun in this browser, or was completed before. Please try again.'],
  expired: [400, 'This sign-in took too long. Please try again.'],
  provider_error: [400, 'The identity provider could not complete the sign-in. Please try again.'],
  email_missing: [422, 'The identity provider gave no email address.'],
  email_unverified: [422, 'The email address at the identity provider is not verified.'],
  account_exists: [409, 'Another account uses this email address or this identity. Sign in to it another way.'],
  registration_disabled: [403, 'There is no account for this identity, and no new ones are created.'],
}

/** A failure in the words of the contract; `cause` is for the log alone. */
export function socialFailure(code: SocialFailure, cause?: unknown): HttpError {
  const [status, message] = answers[code]
  return new HttpError(status, code, message, { cause })
}

/** What is told where only a browser's address line carries it. */
export const isSocialFailure = (text: unknown): text is SocialFailure =>
  typeof text === 'string' && Object.hasOwn(answers, text)

/** An error code of the protocol (RFC 6749 section 5.2), and no other text of a provider. */
const protocolCode = /^[a-z_]{1,40}$/

/** What the log says of a cause: its kind and codes, and nothing else that the provider wrote. */
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

/** The message, unless it quotes what could not be read: that may be a token. */
const messageOf = (error: Error): string => (error instanceof SyntaxError ? 'it is no JSON' : error.message)
