import type { FastifyRequest } from 'fastify'
import { SignJWT } from 'jose'
import { randomId } from '../../../crypto/random.ts'
import { personalOrigin } from '../alive.ts'
import { acrOf } from '../authentication-context.ts'
import type { PrivateJwk } from '../keys/jwk.ts'
import type { SignedIn } from '../protocol/browser.ts'

/** What a token that svc issues by itself is to say. */
interface OwnToken {
  clientId: string
  userId: number
  /** What it lives with. */
  gid: string
  scopes: readonly string[]
  /** How and when the user signed in; null for a token that outlives every sign-in. */
  signedIn: Pick<SignedIn, 'methods' | 'since'> | null
  audience: string
  /** Further claims. */
  claims?: object
  /** Both in unix milliseconds. */
  issuedAt: number
  expiresAt: number
}

/** Signs an access token that no client asked for at the token endpoint, with the claims of all others (RFC 9068). */
export async function signOwnToken(
  { server }: FastifyRequest,
  key: PrivateJwk,
  { clientId, userId, gid, scopes, signedIn, audience, claims, issuedAt, expiresAt }: OwnToken,
): Promise<{ jti: string; accessToken: string }> {
  const { app } = server.config.current()
  const jti = randomId()
  const [sub, iat, exp] = [String(userId), Math.floor(issuedAt / 1000), Math.floor(expiresAt / 1000)]
  const identity = { sub, jti, aud: audience, client_id: clientId, gid, iat, exp }
  const status = await server.oauth.statusLists.referenceFor(identity)
  const accessToken = await new SignJWT({
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
