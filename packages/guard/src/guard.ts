import { Caller, type CallerFacts } from './caller.ts'
import { type ProofRequest, ProofVerifier } from './dpop.ts'
import { Challenges } from './errors.ts'
import { Introspection } from './introspection.ts'
import { JwtVerifier } from './jwt.ts'
import { ResourceMetadata } from './metadata.ts'
import { type GuardOptions, readOptions } from './options.ts'

/** Maximum length of a token. Access tokens of svc are much shorter. */
const maxLength = 8_192

// Ids as svc prints them: the introspection compares them as texts.
const apiTokenShape = /^[1-9]\d{0,14}\|[\x21-\x7e]{1,255}$/

/** Authenticates requests. The adapters share it; use it directly for another framework. */
export class Guard {
  readonly metadata: ResourceMetadata
  readonly #challenges: Challenges
  readonly #jwts: JwtVerifier
  readonly #introspection: Introspection | null
  readonly #proofs: ProofVerifier | null

  constructor(options: GuardOptions) {
    const settings = readOptions(options)
    const { introspection, dpop, remote, now } = settings
    this.metadata = new ResourceMetadata(settings, options.metadata)
    this.#challenges = new Challenges(this.metadata.url)
    this.#jwts = new JwtVerifier(settings, this.#challenges)
    this.#proofs = dpop ? new ProofVerifier(dpop, now) : null
    this.#introspection = introspection ? new Introspection(introspection, remote, now) : null
  }

  /**
   * Authenticates a request by the values of its `Authorization` headers, and by a DPoP proof if the token is bound to a key.
   * Throws a GuardError with the answer. Tokens in the query or in a form are never read.
   */
  async authenticate(authorization: readonly string[], request?: ProofRequest): Promise<Caller> {
    const { scheme, token } = this.#tokenIn(authorization)
    const facts = token.includes('|') ? await this.#introspect(token) : await this.#jwts.verify(token)
    await this.#checkKey(facts, token, scheme === 'dpop' ? request : undefined)
    return new Caller(facts, this.#challenges)
  }

  /** A token that is bound to a key is no bearer token, and the other way round (RFC 9449 section 7.2). */
  async #checkKey({ keyThumbprint }: CallerFacts, token: string, request: ProofRequest | undefined): Promise<void> {
    const isBound = keyThumbprint !== null
    if (!isBound && request === undefined) return
    if (!isBound || request === undefined) throw this.#challenges.invalidToken('The access token is invalid')
    if (!(await this.#proofs?.proves(request, token, keyThumbprint))) throw this.#challenges.invalidProof()
  }

  #tokenIn([value = '', ...others]: readonly string[]): { scheme: string; token: string } {
    if (others.length > 0) throw this.#challenges.invalidRequest('The request has several Authorization headers')
    const schemes = this.#proofs === null ? 'bearer' : 'bearer|dpop'
    const scheme = new RegExp(`^(${schemes})(?: |$)`, 'i').exec(value)?.[1]
    if (scheme === undefined) throw this.#challenges.missing()
    const token = value.slice(scheme.length).trim()
    if (token.length > maxLength) throw this.#challenges.invalidToken('The access token is too long')
    // A comma separates repeated headers. The verification rejects other characters.
    if (token === '' || token.includes(' ') || token.includes(',')) {
      throw this.#challenges.invalidRequest('The Authorization header is malformed')
    }
    return { scheme: scheme.toLowerCase(), token }
  }

  async #introspect(token: string): Promise<CallerFacts> {
    const isApiToken = apiTokenShape.test(token)
    const facts = isApiToken && this.#introspection ? await this.#introspection.check(token) : null
    if (facts === null) throw this.#challenges.invalidToken('The access token is invalid')
    return facts
  }
}
