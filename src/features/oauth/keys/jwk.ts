import { createPublicKey, generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { calculateJwkThumbprint, type JWK } from 'jose'

/** The algorithms that svc signs with. It has keys of each one. */
export const algorithms = ['RS256', 'ES256', 'EdDSA'] as const

export type Algorithm = (typeof algorithms)[number]

/** The public part of a key (RFC 7517). */
export type PublicJwk = JWK & { kty: string; kid: string; alg: Algorithm; use: 'sig' }

/** A key with its private part. */
export type PrivateJwk = PublicJwk & { d: string }

// Asynchronous, because the search for two large primes would block the event loop.
const generate = promisify(generateKeyPair)

const generators = {
  RS256: () => generate('rsa', { modulusLength: 2048 }),
  ES256: () => generate('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generate('ed25519'),
}

/** Creates a key. Its `kid` is its thumbprint (RFC 7638), so that it is unique. */
export async function newKey(alg: Algorithm): Promise<PrivateJwk> {
  const { privateKey } = await generators[alg]()
  const { kty, d, ...rest } = privateKey.export({ format: 'jwk' })
  if (!kty || !d) throw new Error(`The new ${alg} key lacks its private part.`)
  return { ...rest, kty, d, kid: await calculateJwkThumbprint({ ...rest, kty }), alg, use: 'sig' }
}

/** Returns the public part of a key. Node derives it, so that no private member can remain by mistake. */
export function publicPart({ kid, alg, use, ...key }: PrivateJwk): PublicJwk {
  const { kty, ...rest } = createPublicKey({ key, format: 'jwk' }).export({ format: 'jwk' })
  return { ...rest, kty: kty ?? key.kty, kid, alg, use }
}
