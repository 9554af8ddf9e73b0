import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'
import type { JWTPayload } from 'jose'
import type { PrivateJwk } from './jwk.ts'

const signAside = promisify(sign)

const keyObjects = new WeakMap<PrivateJwk, KeyObject>()

function keyObjectOf(jwk: PrivateJwk): KeyObject {
  const key = keyObjects.get(jwk) ?? createPrivateKey({ key: jwk, format: 'jwk' })
  keyObjects.set(jwk, key)
  return key
}

const headers = new WeakMap<PrivateJwk, Map<string | null, string>>()

/** Header of the JWTs of a key, which are all the same. */
function headerOf(jwk: PrivateJwk, typ: string | null): string {
  const ofKey = headers.get(jwk) ?? new Map<string | null, string>()
  headers.set(jwk, ofKey)
  const { alg, kid } = jwk
  const header = ofKey.get(typ) ?? encoded({ alg, ...(typ === null ? {} : { typ }), kid })
  ofKey.set(typ, header)
  return header
}

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')

/** Signs a JWT, with or without a `typ`. */
export async function signJwt(jwk: PrivateJwk, typ: string | null, claims: JWTPayload): Promise<string> {
  const text = `${headerOf(jwk, typ)}.${encoded(claims)}`
  const signature = await signBytes(jwk, Buffer.from(text))
  return `${text}.${signature.toString('base64url')}`
}

/**
 * Signature as JWTs contain it. An ES256 or EdDSA signature takes less time than handing it to another thread, which jose
 * always does. An RS256 signature takes ten times as long, so it would delay other requests.
 */
export function signBytes(jwk: PrivateJwk, data: Uint8Array): Buffer | Promise<Buffer> {
  const key = keyObjectOf(jwk)
  if (jwk.alg === 'RS256') return signAside('sha256', data, key)
  // With `dsaEncoding`, Node would return r and s itself. But it throws and catches two errors for a key within options,
  // which takes as long as half of the signature.
  return jwk.alg === 'ES256' ? joined(sign('sha256', data, key)) : sign(null, data, key)
}

/** ECDSA signature of P-256 as JWTs contain it: r and s in 32 bytes each (RFC 7518 section 3.4), from their DER sequence. */
function joined(der: Buffer): Buffer {
  const signature = Buffer.alloc(64)
  const lengthOfR = der[3] ?? 0
  const r = der.subarray(4, 4 + lengthOfR)
  const s = der.subarray(6 + lengthOfR)
  // DER integers have no leading zeros, except one in front of a first bit that would be a sign.
  for (const [integer, end] of [
    [r, 32],
    [s, 64],
  ] as const) {
    const bytes = integer.subarray(-32)
    signature.set(bytes, end - bytes.length)
  }
  return signature
}
