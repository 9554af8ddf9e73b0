import { SignJWT } from 'jose'
import type { Visit } from '../../../auth/access/visit.ts'
import type { User } from '../../../identity/user.ts'
import { randomId } from '../../../platform/crypto/random.ts'
import { personalOrigin } from '../alive.ts'
import { acrOf } from '../authentication-context.ts'
import type { PrivateJwk } from '../keys/jwk.ts'
import type { SignedIn } from '../protocol/browser.ts'

/** Contents of an access token that svc issues without the token endpoint. */
interface OwnToken {
  clientId: string
  user: User
  /** Session or row that the token is revoked with. */
  gid: string
  scopes: readonly string[]
  /** How and when the user signed in; null for a personal access token, which does not depend on a sign-in. */
  signedIn: Pick<SignedIn, 'methods' | 'since'> | null
  audience: string
  /** Additional claims. */
  claims?: object
  /** Unix milliseconds. */
  issuedAt: number
  /** Unix milliseconds. */
  expiresAt: number
}

/**
 * Signs an access token without the token endpoint, with the same claims as other access tokens (RFC 9068), after asking the
 * hook before_token.
 */
export async function signOwnToken(
  visit: Visit,
  key: PrivateJwk,
  { clientId, user, gid, scopes, signedIn, audience, claims, issuedAt, expiresAt }: OwnToken,
): Promise<{ jti: string; accessToken: string }> {
  const { app: server } = visit
  const { app } = server.config.current()
  const decided = await server.decisions.token(visit, {
    user,
    clientId,
    grant: signedIn ? 'session' : 'personal_access_token',
    scopes,
    audience,
  })
  const jti = randomId()
  const [sub, iat, exp] = [String(user.id), Math.floor(issuedAt / 1000), Math.floor(expiresAt / 1000)]
  const identity = { sub, jti, aud: audience, client_id: clientId, gid, iat, exp }
  const status = await server.oauth.statusLists.referenceFor(identity)
  const accessToken = await new SignJWT({
    ...decided,
    ...claims,
    ...status,
    jti,
    client_id: clientId,
    ...(scopes.length > 0 ? { scope: scopes.join(' ') } : {}),
    scopes,
    gid,
    ...(signedIn ? { acr: acrOf(signedIn.methods), auth_time: signedIn.since } : {}),
  })
    .setProtectedHeader({ alg: key.alg, typ: 'at+jwt', kid: key.kid })
    .setIssuer(app.url)
    .setAudience(audience)
    .setSubject(sub)
    .setIssuedAt(iat)
    .setExpirationTime(exp)
    .sign(key)
  server.metrics?.token('access_token', gid === personalOrigin ? 'personal' : 'first_party')
  return { jti, accessToken }
}
