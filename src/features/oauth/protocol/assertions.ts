import { decodeJwt } from 'jose'
import { errors, type KoaContextWithOIDC } from 'oidc-provider'
import { isPlainId, oddTimeOf } from '../../../auth/access/claim-bounds.ts'
import { checkFapiClient } from './fapi.ts'

/** Maximum lifetime of a client assertion, in seconds. */
const maxLifetime = 300

/** How far a client's clock may be ahead, in seconds. */
const clockSkew = 60

const refuse = (detail: string): never => {
  throw Object.assign(new errors.InvalidClientAuth(detail), { error_description: `client assertion: ${detail}` })
}

/**
 * Allowed audiences of client assertions: the issuer, the token endpoint and, for a pushed request, its endpoint (RFC
 * 9126 section 2). The library would also accept the URL of every other endpoint.
 */
function audiencesOf({ oidc }: KoaContextWithOIDC): unknown[] {
  const isPushed = oidc.route === 'pushed_authorization_request'
  return [oidc.issuer, oidc.urlFor('token'), ...(isPushed ? [oidc.urlFor(oidc.route)] : [])]
}

/** Checks an assertion with a valid signature: one audience, a short lifetime, and times that svc can store. */
export function checkAssertion(
  ctx: KoaContextWithOIDC,
  claims: Record<string, unknown>,
  header: Record<string, unknown>,
): void {
  const { aud, exp, iat, jti } = claims
  const audiences = audiencesOf(ctx)
  if (![aud].flat().some((name) => audiences.includes(name)))
    throw new errors.InvalidClientAuth('aud must be the issuer or the token endpoint')
  if (Array.isArray(aud) && aud.length !== 1) refuse('aud must be one audience: the issuer or the token endpoint')
  if (!isPlainId(jti)) refuse('jti must be a text of at most 256 characters')
  const odd = oddTimeOf(claims)
  if (odd) refuse(`${odd} must be a time in whole seconds`)
  const now = Math.floor(Date.now() / 1000)
  const start = iat === undefined ? now : Number(iat)
  if (start > now + clockSkew) refuse('iat is in the future')
  if (Number(exp) - start > maxLifetime || Number(exp) - now > maxLifetime + clockSkew) {
    refuse('exp must be at most 5 minutes after iat')
  }
  checkFapiClient(ctx, claims, header)
}

/**
 * Checks the times and the `jti` of a DPoP proof, because the library accepts any number. Throws `invalid_dpop_proof`.
 * The library calls it to ask whether a nonce is required (it is not), for each proof and before its own checks.
 */
export function checkProof(ctx: KoaContextWithOIDC): boolean {
  let claims: Record<string, unknown> = {}
  try {
    claims = decodeJwt(ctx.get('dpop'))
  } catch {
    // The library rejects values that are not a JWT.
    return false
  }
  const { jti } = claims
  if (jti !== undefined && !isPlainId(jti)) {
    throw new errors.InvalidDpopProof('DPoP proof jti must be a text of at most 256 characters')
  }
  const odd = oddTimeOf(claims)
  if (odd) throw new errors.InvalidDpopProof(`DPoP proof ${odd} must be a time in whole seconds`)
  return false
}
