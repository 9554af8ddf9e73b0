import { base64url, calculateJwkThumbprint, EmbeddedJWK, jwtVerify } from 'jose'
import type { Settings } from './options.ts'

/** Algorithms of proofs. */
export const proofAlgorithms = ['ES256', 'RS256', 'PS256', 'EdDSA'] as const

/** Seconds that the clocks of client and API may differ. */
const window = 300

/** Maximum number of remembered proofs. The oldest one makes room. */
const maxRemembered = 100_000

/** A request that may contain a DPoP proof. */
export interface ProofRequest {
  /** The values of its `DPoP` headers. */
  proofs: readonly string[]
  method: string
  /** The path, with or without a query. */
  path: string
}

type DpopSettings = NonNullable<Settings['dpop']>

/** Verifies proofs of possession (RFC 9449 section 4.3). Accepts each one once. */
export class ProofVerifier {
  readonly #origin: string
  readonly #now: () => number
  readonly #use: (id: string, expiresAt: number) => boolean | Promise<boolean>
  /** When each used proof expires, in Unix milliseconds. */
  readonly #used = new Map<string, number>()

  constructor({ origin, useOnce }: DpopSettings, now: () => number) {
    this.#origin = origin
    this.#now = now
    this.#use = useOnce ?? ((id, expiresAt) => this.#remember(id, expiresAt))
  }

  /** Tests whether the request has a new proof for the token by the key with this thumbprint. */
  async proves({ proofs, method, path }: ProofRequest, token: string, thumbprint: string): Promise<boolean> {
    const [proof, ...others] = proofs
    if (proof === undefined || others.length > 0) return false
    const now = this.#now()
    try {
      const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
        algorithms: [...proofAlgorithms],
        typ: 'dpop+jwt',
        currentDate: new Date(now),
        requiredClaims: ['jti', 'iat', 'htm', 'htu', 'ath'],
      })
      const { jti, iat = 0, htm, htu, ath } = payload
      const isForThis =
        htm === method &&
        addressOf(htu) === addressOf(`${this.#origin}${path}`) &&
        ath === (await hashOf(token)) &&
        Math.abs(now / 1000 - iat) <= window
      const isPlain = typeof jti === 'string' && jti.length > 0 && jti.length <= 256
      if (!isForThis || !isPlain || !protectedHeader.jwk) return false
      if ((await calculateJwkThumbprint(protectedHeader.jwk)) !== thumbprint) return false
      return await this.#use(`${thumbprint} ${jti}`, (iat + window) * 1000)
    } catch {
      return false
    }
  }

  #remember(id: string, expiresAt: number): boolean {
    const now = this.#now()
    if ((this.#used.get(id) ?? 0) >= now) return false
    for (const [known, until] of this.#used) {
      if (until >= now && this.#used.size < maxRemembered) break
      this.#used.delete(known)
    }
    this.#used.set(id, expiresAt)
    return true
  }
}

async function hashOf(token: string): Promise<string> {
  return base64url.encode(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token))))
}

/** Normalised URL without query and fragment; null if it is invalid. */
function addressOf(text: unknown): string | null {
  if (typeof text !== 'string' || !URL.canParse(text)) return null
  const { origin, pathname } = new URL(text)
  return origin + pathname
}
