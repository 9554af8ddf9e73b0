import { createLocalJWKSet, decodeProtectedHeader, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose'

/** What svc puts into an access token (RFC 9068 section 2.2), and what it adds. */
export interface AccessTokenClaims extends JWTPayload {
  sub: string
  jti: string
  iat: number
  exp: number
  aud: string
  client_id: string
  scope?: string
  scopes?: string[]
  /** The grant it comes from, or the session or row it lives with. */
  gid?: string
  /** The `jti` of the token that it was exchanged for, and ends with. */
  subject_jti?: string
  /** `client_credentials` for a machine, whatever its `sub`. */
  gty?: string
  /** How and when the user signed in (RFC 9068 section 2.2.1); missing from machines' and personal tokens. */
  acr?: string
  auth_time?: number
  /** The key it is bound to (RFC 9449 section 6.1). */
  cnf?: { jkt?: string }
}

/** The keys that verify tokens, and a name that changes with them. */
interface VerifyingKeys {
  version: string
  public: JSONWebKeySet
}

/** Where the keys come from. */
export interface KeySource {
  current(): VerifyingKeys
  /** Whether there is such a key, one that another process made a moment ago included. */
  knows(kid: string): Promise<boolean>
}

const algorithms = ['RS256', 'ES256', 'EdDSA']

/** As many verified tokens as are remembered, so that one that comes again costs no signature. */
const maxVerified = 10_000

/** Whether every part is base64url as its encoder writes it: no token has a second spelling. */
const isCanonical = (token: string): boolean =>
  token.split('.').every((part) => part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part)

const isText = (value: unknown): value is string => typeof value === 'string'

/** Whether verified claims are an access token's. */
const isAccessToken = (claims: JWTPayload): claims is AccessTokenClaims =>
  isText(claims.sub) && isText(claims.jti) && isText(claims.aud) && isText(claims.client_id) && claims.exp !== undefined

/**
 * Checks the signatures of svc's own access tokens: algorithm pinned to the key's, `typ: at+jwt`, issuer and time.
 * What is remembered is only that one exact text's signature fits one exact set of keys; everything else is looked at
 * every time.
 */
export class AccessTokenVerifier {
  readonly #issuer: string
  readonly #keys: KeySource
  #verified = new Map<string, AccessTokenClaims>()
  #version = ''
  #set: ReturnType<typeof createLocalJWKSet> | undefined

  constructor(issuer: string, keys: KeySource) {
    this.#issuer = issuer
    this.#keys = keys
  }

  /** The claims of a token that is ours and whose time has not passed (unix ms); else null. */
  async verify(token: string, now: number): Promise<AccessTokenClaims | null> {
    this.#takeKeys()
    const known = this.#verified.get(token)
    if (known) return known.exp * 1000 > now ? known : null
    if (token.length > 8192 || !isCanonical(token)) return null
    const payload = await this.#payloadOf(token, now)
    if (!payload || !isAccessToken(payload)) return null
    if (this.#verified.size >= maxVerified) this.#verified.delete(this.#verified.keys().next().value ?? '')
    this.#verified.set(token, payload)
    return payload
  }

  #takeKeys(): ReturnType<typeof createLocalJWKSet> {
    const { version, public: keys } = this.#keys.current()
    if (version === this.#version && this.#set) return this.#set
    this.#version = version
    this.#verified.clear()
    this.#set = createLocalJWKSet(keys)
    return this.#set
  }

  async #payloadOf(token: string, now: number, isAgain = false): Promise<JWTPayload | null> {
    try {
      const { payload } = await jwtVerify(token, this.#takeKeys(), {
        algorithms,
        typ: 'at+jwt',
        issuer: this.#issuer,
        requiredClaims: ['sub', 'jti', 'aud', 'exp', 'client_id'],
        currentDate: new Date(now),
      })
      return payload
    } catch (error) {
      if (isAgain || !(error instanceof errors.JWKSNoMatchingKey)) return null
      const { kid } = decodeProtectedHeader(token)
      const isNew = kid !== undefined && (await this.#keys.knows(kid))
      return isNew ? this.#payloadOf(token, now, true) : null
    }
  }
}
