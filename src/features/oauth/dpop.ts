import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { calculateJwkThumbprint, EmbeddedJWK, jwtVerify } from 'jose'
import { HttpError } from '../../errors.ts'
import { isPlainId, oddTimeOf } from './claim-bounds.ts'

/** The algorithms of proofs, and of client assertions. */
export const proofAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const

/** How far a proof's time may be from ours, in seconds. */
const window = 300

/** 401 of a token that is bound to a key, and what to prove (RFC 9449 section 7.1). */
export const boundRefusal = (error: 'invalid_token' | 'invalid_dpop_proof'): HttpError =>
  new HttpError(401, 'unauthenticated', 'Unauthenticated.', {
    headers: { 'www-authenticate': `DPoP error="${error}", algs="${proofAlgorithms.join(' ')}"` },
  })

/** A proof that fits a request and its token: what must not come again, and until when (unix ms). */
interface Proof {
  name: string
  expiresAt: number
}

/**
 * Checks the proof of a request with a bound token (RFC 9449 section 4.3): signed by the very key, for this method, this
 * address and this token, a moment ago. Null when it is not. That it comes only once is for the caller to see to.
 */
export async function proofOf(request: FastifyRequest, token: string, thumbprint: string): Promise<Proof | null> {
  const { headers, method, server } = request
  const { dpop } = headers
  if (typeof dpop !== 'string') return null
  const now = server.clock.now()
  try {
    const { payload, protectedHeader } = await jwtVerify(dpop, EmbeddedJWK, {
      algorithms: [...proofAlgorithms],
      typ: 'dpop+jwt',
      currentDate: new Date(now),
      requiredClaims: ['jti', 'iat', 'htm', 'htu', 'ath'],
    })
    const { jti, iat = 0, htm, htu, ath } = payload
    const isForThis =
      htm === method &&
      addressOf(htu) === addressOf(server.config.current().app.url + request.url) &&
      ath === hash('sha256', token, 'base64url') &&
      oddTimeOf(payload) === undefined &&
      Math.abs(now / 1000 - iat) <= window
    if (!isForThis || !isPlainId(jti) || !protectedHeader.jwk) return null
    if ((await calculateJwkThumbprint(protectedHeader.jwk)) !== thumbprint) return null
    return { name: `${thumbprint}\0${jti}`, expiresAt: (iat + window + 60) * 1000 }
  } catch {
    return null
  }
}

/** An address without query and fragment, in the one way to write it (RFC 9449 section 4.3); null for none. */
function addressOf(text: unknown): string | null {
  const url = typeof text === 'string' ? URL.parse(text) : null
  return url && url.origin + url.pathname
}
