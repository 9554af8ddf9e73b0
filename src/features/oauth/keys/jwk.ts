import { createPublicKey, generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { calculateJwkThumbprint, type JWK } from 'jose'

/** The algorithms that svc signs with; it has keys of each. */
export const algorithms = ['RS256', 'ES256', 'EdDSA'] as const

export type Algorithm = (typeof algorithms)[number]

/** What anybody may know of a key (RFC 7517). */
export type PublicJwk = JWK & { kty: string; kid: string; alg: Algorithm; use: 'sig' }

/** A key with its private parts. */
export type PrivateJwk = PublicJwk & { d: string }

// The asynchronous form: two large primes are searched for beside the event loop, not on it.
const generate = promisify(generateKeyPair)

const generators = {
  RS256: () => generate('rsa', { modulusLength: 2048 }),
  ES256: () => generate('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generate('ed25519'),
}

/** A new key; its `kid` is its thumbprint (RFC 7638), so that no two keys share one. */
export async function newKey(alg: Algorithm): Promise<PrivateJwk> {
  const { privateKey } = await generators[alg]()
  const { kty, d, ...rest } = privateKey.export({ format: 'jwk' })
  if (!kty || !d) throw new Error(`The new ${alg} key lacks its private part.`)
  return { ...rest, kty, d, kid: await calculateJwkThumbprint({ ...rest, kty }), alg, use: 'sig' }
}

/** The public parts of a key, derived from it and not picked, so that no private one is forgotten in it. */
export function publicPart({ kid, alg, use, ...key }: PrivateJwk): PublicJwk {
  const { kty, ...rest } = createPublicKey({ key, format: 'jwk' }).export({ format: 'jwk' })
  return { ...rest, kty: kty ?? key.kty, kid, alg, use }
}
