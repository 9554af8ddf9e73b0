import { decodeProtectedHeader } from 'jose'
import { errors, type KoaContextWithOIDC } from 'oidc-provider'

/** The algorithms of FAPI 2.0 (Security Profile section 5.4.1) among those that svc takes. */
const strong = new Set<unknown>(['PS256', 'ES256', 'EdDSA'])

/**
 * Checks what a FAPI 2.0 client signs, wherever it authenticates: its assertion is for the issuer alone (section
 * 5.3.2.1), and that and its proof are signed by one of the profile's algorithms. Throws `invalid_client`.
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
