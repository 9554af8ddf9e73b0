import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { calculateJwkThumbprint, EmbeddedJWK, jwtVerify } from 'jose'
import { HttpError } from '../../platform/errors.ts'
import { isPlainId, oddTimeOf } from './claim-bounds.ts'

/** Algorithms of DPoP proofs and client assertions. */
export const proofAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const

/** Maximum difference between the clocks of client and server, in seconds. */
const window = 300

/** 401 for a token that is bound to a key, with the DPoP challenge (RFC 9449 section 7.1). */
export const boundRefusal = (error: 'invalid_token' | 'invalid_dpop_proof'): HttpError =>
  new HttpError(401, 'unauthenticated', 'Unauthenticated.', {
    headers: { 'www-authenticate': `DPoP error="${error}", algs="${proofAlgorithms.join(' ')}"` },
  })

/** Valid proof: the name to mark as used, and until when (unix ms). */
interface DpopProof {
  name: string
  expiresAt: number
}

/**
 * Checks the proof of a request with a bound token (RFC 9449 section 4.3): key, method, URL, token and time. Null if it
 * is invalid. The caller must reject replays.
 */
export async function proofOf(request: FastifyRequest, token: string, thumbprint: string): Promise<DpopProof | null> {
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

/** Normalised URL without query and fragment (RFC 9449 section 4.3); null if it is invalid. */
function addressOf(text: unknown): string | null {
  const url = typeof text === 'string' ? URL.parse(text) : null
  return url && url.origin + url.pathname
}
