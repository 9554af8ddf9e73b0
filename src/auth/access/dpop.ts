import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { calculateJwkThumbprint, EmbeddedJWK, jwtVerify } from 'jose'
import { HttpError } from '../../platform/errors.ts'
import { isPlainId, oddTimeOf } from './claim-bounds.ts'
import { useOnce } from './used-once.ts'

declare module '../../platform/errors.ts' {
  interface ErrorCodes {
    invalid_dpop_proof: true
  }
}

/** Algorithms of DPoP proofs and client assertions. */
export const proofAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const

/** Maximum difference between the clocks of client and server, in seconds. */
const window = 300

/** 401 for a token that is bound to a key, with the DPoP challenge (RFC 9449 section 7.1). */
export const boundRefusal = (error: 'invalid_token' | 'invalid_dpop_proof'): HttpError =>
  new HttpError(401, 'unauthenticated', 'Unauthenticated.', {
    headers: { 'www-authenticate': `DPoP error="${error}", algs="${proofAlgorithms.join(' ')}"` },
  })

/** The request that a proof is for: svc's own, or the one that a proxy asks the guard about. */
export interface ProofTarget {
  method: string
  url: string
}

/** The request itself as the target of a proof. */
export const ownTarget = ({ method, url, server }: FastifyRequest): ProofTarget => ({
  method,
  url: server.config.current().app.url + url,
})

/** A valid proof: the thumbprint of its key, the name to mark as used, and until when (Unix milliseconds). */
interface DpopProof {
  thumbprint: string
  name: string
  expiresAt: number
}

/**
 * Checks a proof (RFC 9449 section 4.3): signature, method, URL and time, and the token that it is sent with. Null if it is
 * invalid. The caller must reject replays.
 */
async function proofOf(
  { clock }: FastifyInstance,
  { dpop, target, token }: { dpop: unknown; target: ProofTarget; token: string | null },
): Promise<DpopProof | null> {
  if (typeof dpop !== 'string') return null
  const now = clock.now()
  try {
    const { payload, protectedHeader } = await jwtVerify(dpop, EmbeddedJWK, {
      algorithms: [...proofAlgorithms],
      typ: 'dpop+jwt',
      currentDate: new Date(now),
      requiredClaims: ['jti', 'iat', 'htm', 'htu', ...(token === null ? [] : ['ath'])],
    })
    const { jti, iat = 0, htm, htu, ath } = payload
    const isForThis =
      htm === target.method &&
      addressOf(htu) === addressOf(target.url) &&
      (token === null || ath === hash('sha256', token, 'base64url')) &&
      oddTimeOf(payload) === undefined &&
      Math.abs(now / 1000 - iat) <= window
    if (!isForThis || !isPlainId(jti) || !protectedHeader.jwk) return null
    const thumbprint = await calculateJwkThumbprint(protectedHeader.jwk)
    return { thumbprint, name: `${thumbprint}\0${jti}`, expiresAt: (iat + window + 60) * 1000 }
  } catch {
    return null
  }
}

/** Throws 401 unless the request has a new proof for this token by the key with this thumbprint. */
export async function requireProof(
  { headers, server }: FastifyRequest,
  { token, thumbprint, target }: { token: string; thumbprint: string; target: ProofTarget },
): Promise<void> {
  const proof = await proofOf(server, { dpop: headers.dpop, target, token })
  const isNew =
    proof?.thumbprint === thumbprint && (await useOnce(server.database, 'ReplayDetection', proof.name, proof.expiresAt))
  if (!isNew) throw boundRefusal('invalid_dpop_proof')
}

/**
 * Returns the thumbprint of the key to which a new token must be bound, or null if the request has no proof. Throws 400 for an
 * invalid proof. A repeated proof is harmless here: the token is of no use without the key.
 */
export async function keyForNewToken(request: FastifyRequest): Promise<string | null> {
  const { dpop } = request.headers
  if (dpop === undefined) return null
  const proof = await proofOf(request.server, { dpop, target: ownTarget(request), token: null })
  if (proof) return proof.thumbprint
  const message = 'The header DPoP must be one proof for this method and URL that is not older than five minutes.'
  throw new HttpError(400, 'invalid_dpop_proof', message)
}

/** Normalised URL without query and fragment (RFC 9449 section 4.3); null if it is invalid. */
function addressOf(text: unknown): string | null {
  const url = typeof text === 'string' ? URL.parse(text) : null
  return url && url.origin + url.pathname
}
