import { decodeProtectedHeader } from 'jose'
import { errors, type KoaContextWithOIDC } from 'oidc-provider'

/** Algorithms of FAPI 2.0 (Security Profile section 5.4.1) that svc accepts. */
const strong = new Set<unknown>(['PS256', 'ES256', 'EdDSA'])

/**
 * Checks the signatures of a FAPI 2.0 client. Its assertion must name the issuer as the only audience (section
 * 5.3.2.1), and the assertion and the DPoP proof must use an algorithm of the profile. Throws `invalid_client`.
 */
export function checkFapiClient(
  ctx: KoaContextWithOIDC,
  claims: Record<string, unknown>,
  header: Record<string, unknown>,
): void {
  if (!ctx.oidc.isFapi('2.0')) return
  if (claims.aud !== ctx.oidc.issuer) throw new errors.InvalidClientAuth('aud must be the issuer alone')
  const proof = ctx.get('dpop')
  if (!strong.has(header.alg) || (proof !== '' && !strong.has(algorithmOf(proof)))) {
    throw new errors.InvalidClientAuth('the algorithm is not one of FAPI 2.0')
  }
}

function algorithmOf(jwt: string): string | undefined {
  try {
    return decodeProtectedHeader(jwt).alg
  } catch {
    return undefined
  }
}
