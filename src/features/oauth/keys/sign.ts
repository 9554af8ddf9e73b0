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

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')

/**
 * Signs a JWT. An ES256 or EdDSA signature takes less time than handing it to another thread, which jose always does. An
 * RS256 signature takes twenty times as long, so it would delay other requests.
 */
export async function signJwt(jwk: PrivateJwk, typ: string, claims: JWTPayload): Promise<string> {
  const { alg, kid } = jwk
  const text = `${encoded({ alg, typ, kid })}.${encoded(claims)}`
  const key = { key: keyObjectOf(jwk), dsaEncoding: 'ieee-p1363' } as const
  const digest = alg === 'EdDSA' ? null : 'sha256'
  const data = Buffer.from(text)
  const signature = alg === 'RS256' ? await signAside(digest, data, key) : sign(digest, data, key)
  return `${text}.${signature.toString('base64url')}`
}
