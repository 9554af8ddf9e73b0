import { createLocalJWKSet, decodeProtectedHeader, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose'
import { cacheSize, RecentMap } from '../../platform/cache.ts'

/** Who acts for the subject of a token (RFC 8693 section 4.1): the latest actor first. */
export interface Act {
  /** `client_id` of an agent, or the id of a user. */
  sub: string
  /** Client through which a user acts. */
  client_id?: string
  act?: Act
}

/** Claims of an access token: those of RFC 9068 section 2.2, and svc's own. */
export interface AccessTokenClaims extends JWTPayload {
  sub: string
  jti: string
  iat: number
  exp: number
  aud: string
  client_id: string
  scope?: string
  scopes?: string[]
  /** Grant, session or row with which the token ends. */
  gid?: string
  /** `jti` of the exchanged subject token, with which it ends. After several exchanges a list, the latest first. */
  subject_jti?: string | string[]
  /** `client_credentials` marks a machine, regardless of `sub`. */
  gty?: string
  /**
   * Methods and time of the sign-in (RFC 9068 section 2.2.1); missing in tokens of machines and in personal access
   * tokens.
   */
  acr?: string
  auth_time?: number
  /** Who acts for the user (RFC 8693 section 4.1). */
  act?: Act
  /** Key to which the token is bound (RFC 9449 section 6.1). */
  cnf?: { jkt?: string }
}

/** Keys that verify tokens, and a name that changes with them. */
interface VerifyingKeys {
  version: string
  public: JSONWebKeySet
}

/** Source of the keys. */
export interface KeySource {
  current(): VerifyingKeys
  /** Tests whether a key exists, including one that another process just created. */
  knows(kid: string): Promise<boolean>
}

const algorithms = ['RS256', 'ES256', 'EdDSA']

/** The end of the signature. A Map takes long to hash a whole token, so only its value has all of it. */
const cacheKey = (token: string): string => token.slice(-43)

/** A token whose signature is valid. */
interface Verified {
  token: string
  claims: AccessTokenClaims
}

/** Tests for canonical base64url in every part, so that a token has only one spelling. */
const isCanonical = (token: string): boolean =>
  token.split('.').every((part) => part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part)

const isText = (value: unknown): value is string => typeof value === 'string'

/** Tests whether verified claims belong to an access token. */
const isAccessToken = (claims: JWTPayload): claims is AccessTokenClaims =>
  isText(claims.sub) && isText(claims.jti) && isText(claims.aud) && isText(claims.client_id) && claims.exp !== undefined

/**
 * Verifies svc's own access tokens: signature with the algorithm of the key, `typ: at+jwt`, issuer and time. Caches
 * only that the signature of an exact text is valid for an exact set of keys. Everything else is checked every time.
 */
export class AccessTokenVerifier {
  readonly #issuer: string
  readonly #keys: KeySource
  /** Tokens that need no signature check. */
  #verified = new RecentMap<Verified>(cacheSize.tokens)
  #version = ''
  #set: ReturnType<typeof createLocalJWKSet> | undefined

  constructor(issuer: string, keys: KeySource) {
    this.#issuer = issuer
    this.#keys = keys
  }

  /** Claims of a token of svc that has not expired at this time (unix ms); otherwise null. */
  verify(token: string, now: number): AccessTokenClaims | null | Promise<AccessTokenClaims | null> {
    this.#takeKeys()
    const known = this.#verified.get(cacheKey(token))
    if (known?.token === token) return known.claims.exp * 1000 > now ? known.claims : null
    return this.#verifyNew(token, now)
  }

  async #verifyNew(token: string, now: number): Promise<AccessTokenClaims | null> {
    if (token.length > 8192 || !isCanonical(token)) return null
    const version = this.#version
    const payload = await this.#payloadOf(token, now)
    // A cached token needs no key, so one whose key was withdrawn during the check would stay valid.
    if (version !== this.#keys.current().version) return this.verify(token, now)
    if (!payload || !isAccessToken(payload)) return null
    this.#verified.add(cacheKey(token), { token, claims: payload })
    return payload
  }

  #takeKeys(): ReturnType<typeof createLocalJWKSet> {
    const { version, public: keys } = this.#keys.current()
    if (version === this.#version && this.#set) return this.#set
    this.#version = version
    this.#verified = new RecentMap(cacheSize.tokens)
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
