import { providerCode } from '../failure.ts'
import { type Claims, claimsOf } from './profile.ts'

const codeOf = (value: unknown): string | null => (typeof value === 'string' && providerCode.test(value) ? value : null)

/** Returns the error code in a response, or null. Only some providers keep to RFC 6749 section 5.2. */
function errorCodeIn(body: unknown): string | null {
  let claims: Claims
  try {
    claims = claimsOf(body)
  } catch {
    return null
  }
  const { error, errors, title } = claims
  // Facebook: `{"error": {"type": "OAuthException", "code": 190}}`. Bitbucket: `{"error": {"message": …}}`.
  if (typeof error === 'object' && error !== null && !Array.isArray(error)) {
    const { type, code: number } = claimsOf(error)
    return codeOf(typeof number === 'number' ? `${type} ${number}` : type)
  }
  // X: `{"errors": [{"title": …}]}` or `{"title": …}`.
  const first: unknown = Array.isArray(errors) ? errors[0] : null
  const listed = typeof first === 'object' && first !== null && 'title' in first ? first.title : null
  return codeOf(error) ?? codeOf(listed) ?? codeOf(title)
}

/** Error that a provider returned, with its own code. */
export class ProviderError extends Error {
  /** Null if the response names no code. */
  readonly error: string | null

  constructor(message: string, error: string | null) {
    super(message)
    this.name = 'ProviderError'
    this.error = error
  }
}

/** Returns the JSON of a response, or null. */
async function jsonOf(response: Response): Promise<unknown> {
  try {
    return await response.json()
  } catch {
    return null
  }
}

/** Throws the provider's error unless the status is 200. `place` names the endpoint. */
export async function requireOk(response: Response, place: string): Promise<void> {
  if (response.status !== 200)
    throw new ProviderError(`the ${place} returned ${response.status}`, errorCodeIn(await jsonOf(response)))
}

/** Throws the error of a token response. GitHub and Slack send errors with status 200, and Facebook as objects. */
export async function requireTokens(response: Response): Promise<void> {
  const body = await jsonOf(response.clone())
  const error = errorCodeIn(body)
  if (error !== null && !Object.hasOwn(Object(body), 'access_token'))
    throw new ProviderError(`the token endpoint returned ${response.status}`, error)
}
