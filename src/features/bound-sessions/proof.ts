import { decodeJwt, decodeProtectedHeader, importJWK, type JWK, jwtVerify } from 'jose'

const algorithms = ['ES256', 'RS256']

/** The claims of a valid proof: the answered challenge and, for a refresh, the id of the binding. */
interface Proof {
  challenge: unknown
  bindingId: unknown
}

/** Returns the string in a structured header (RFC 9651 section 3.3.3), with or without its quotes; null for another value. */
function stringIn(header: unknown): string | null {
  const [, quoted, bare] = /^(?:"([\w.-]+)"(?:;.*)?|([\w.-]+))$/.exec(typeof header === 'string' ? header : '') ?? []
  return quoted ?? bare ?? null
}

/** Returns the JWT in the header `Secure-Session-Response`; null without one. */
export function proofIn(header: unknown): string | null {
  const text = stringIn(header)
  return text?.split('.').length === 3 ? text : null
}

/** Returns the id of the binding in the header `Sec-Secure-Session-Id`; null without one. */
export const bindingIn = stringIn

/** Returns the public key that a registration contains, in its header or, as in earlier drafts, in its claims; null without one. */
export function keyIn(proof: string): JWK | null {
  try {
    return publicPart(decodeProtectedHeader(proof).jwk ?? decodeJwt(proof).key)
  } catch {
    return null
  }
}

/** Returns what a proof (`dbsc+jwt`) says, or null unless the key signed it for this URL. */
export async function verifyProof(proof: string, key: JWK, url: string): Promise<Proof | null> {
  try {
    const algorithm = key.kty === 'RSA' ? 'RS256' : 'ES256'
    const { payload } = await jwtVerify(proof, await importJWK(key, algorithm), { algorithms, typ: 'dbsc+jwt' })
    const { aud, jti, sub } = payload
    if (aud !== undefined && aud !== url) return null
    return { challenge: jti, bindingId: sub }
  } catch {
    return null
  }
}

/** Keeps only the members of a public key for ES256 or RS256. */
function publicPart(jwk: unknown): JWK | null {
  const { kty, crv, x, y, n, e } = Object(jwk) as JWK
  if (kty === 'EC' && crv === 'P-256' && isText(x) && isText(y)) return { kty, crv, x, y }
  return kty === 'RSA' && isText(n) && isText(e) ? { kty, n, e } : null
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= 1_024
