import { readFileSync } from 'node:fs'
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import type { OutboundFetch } from '../../../platform/http/outbound.ts'

/** Age at which keys are fetched again, so that a withdrawn key stops working, in milliseconds. */
const maxAge = 600_000

/** Maximum age while the issuer does not answer, in milliseconds. */
const maxStale = 86_400_000

/** Minimum interval between two fetches, which limits what tokens with invented keys can cause, in milliseconds. */
const pause = 10_000

/** Timeout of a fetch in milliseconds. */
const timeout = 5_000

/** Maximum number of keys of an issuer. */
const maxKeys = 100

/** Where the keys of an issuer are. */
export interface KeyLocation {
  issuer: string | null
  /** By default from the discovery document of the issuer. */
  jwksUri: string | null
  tokenFile: string | null
}

/** The keys of an issuer. They stay in use for a day while it does not answer. */
export class IssuerKeys {
  readonly #location: KeyLocation
  readonly #fetch: OutboundFetch
  readonly #now: () => number
  #keys: ReturnType<typeof createLocalJWKSet> | null = null
  #loadedAt = 0
  #triedAt = Number.NEGATIVE_INFINITY
  #failure: unknown = null
  #pending: Promise<void> | null = null

  constructor(location: KeyLocation, fetch: OutboundFetch, now: () => number) {
    this.#location = location
    this.#fetch = fetch
    this.#now = now
  }

  /** Finds the key of a token. Throws if the issuer has no such key, or does not answer. */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const keys = await this.#current()
    try {
      return await keys(header, token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      await this.#load()
      if (this.#keys !== null && this.#keys !== keys) return this.#keys(header, token)
      throw error
    }
  }

  async #current() {
    if (this.#keys === null || this.#now() - this.#loadedAt > maxAge) await this.#load()
    if (this.#keys === null || this.#now() - this.#loadedAt > maxStale) {
      throw new Error(`its keys could not be read: ${reasonOf(this.#failure)}`)
    }
    return this.#keys
  }

  #load(): Promise<void> {
    if (this.#pending) return this.#pending
    if (this.#now() - this.#triedAt < pause) return Promise.resolve()
    this.#triedAt = this.#now()
    this.#pending = this.#read()
      .then(
        (keys) => {
          this.#keys = keys
          this.#loadedAt = this.#now()
        },
        (error) => {
          this.#failure = error
        },
      )
      .finally(() => {
        this.#pending = null
      })
    return this.#pending
  }

  async #read() {
    const found = await this.#json(this.#location.jwksUri ?? (await this.#discover()))
    const { keys } = found as { keys?: unknown }
    if (!Array.isArray(keys) || keys.length > maxKeys) throw new Error(`it must have at most ${maxKeys} keys`)
    return createLocalJWKSet({ keys: keys.flatMap(signingKey) } as JSONWebKeySet)
  }

  async #discover(): Promise<string> {
    const { issuer } = this.#location
    const url = `${issuer?.replace(/\/$/, '')}/.well-known/openid-configuration`
    const found = (await this.#json(url)) as { issuer?: unknown; jwks_uri?: unknown }
    // OpenID Connect Discovery section 4.3.
    if (found.issuer !== issuer) throw new Error(`${url} is the document of another issuer`)
    if (typeof found.jwks_uri !== 'string') throw new Error(`${url} has no jwks_uri`)
    return found.jwks_uri
  }

  /** Token for a URL of the configuration, and for no other host that a discovery document names. */
  #tokenFor(url: string): string | null {
    const { issuer, jwksUri, tokenFile } = this.#location
    const isOwn = [issuer, jwksUri].some((own) => own !== null && URL.parse(own)?.origin === URL.parse(url)?.origin)
    return tokenFile !== null && isOwn ? readFileSync(tokenFile, 'utf8').trim() : null
  }

  async #json(url: string): Promise<object> {
    const token = this.#tokenFor(url)
    const answer = await this.#fetch(url, {
      // The API server of Kubernetes answers 406 to requests for keys that accept JSON alone.
      headers: {
        accept: 'application/jwk-set+json, application/json',
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      signal: AbortSignal.timeout(timeout),
    })
    if (answer.status !== 200) throw new Error(`${url} answers with status ${answer.status}`)
    const body: unknown = await answer.json()
    if (typeof body !== 'object' || body === null) throw new Error(`${url} is not a JSON object`)
    return body
  }
}

/** A key that signs tokens. SPIFFE marks these with another `use` (JWT-SVID section 4), and certificates with `x509-svid`. */
function signingKey(key: unknown): object[] {
  if (typeof key !== 'object' || key === null) return []
  const { use, ...others } = key as { use?: unknown }
  return use === undefined || use === 'sig' || use === 'jwt-svid' ? [others] : []
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
