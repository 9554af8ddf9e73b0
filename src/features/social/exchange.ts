import { createHmac } from 'node:crypto'
import { compactVerify } from 'jose'
import {
  type AuthorizationCodeGrantChecks,
  authorizationCodeGrant,
  type Configuration,
  fetchProtectedResource,
  fetchUserInfo,
} from 'openid-client'
import type { Connections } from './connections.ts'
import { type Claims, claimsOf, primaryEmail, profileOf, type SocialProfile } from './profile.ts'
import type { SocialProvider } from './provider.ts'

/** Result of a code exchange. */
export interface Exchanged {
  profile: SocialProfile
  tokens: { access_token: string; refresh_token: string | null; scope: string | null; expires_in: number | null }
}

/** Redeems the code of an authorization response and reads the profile. Rejects for any error. */
export async function exchange(
  connections: Connections,
  provider: SocialProvider,
  response: URL,
  checks: AuthorizationCodeGrantChecks,
): Promise<Exchanged> {
  const { configuration, keys } = await connections.to(provider)
  const answer = await authorizationCodeGrant(configuration, response, { ...checks, idTokenExpected: keys !== null })
  const token = answer.access_token
  const claims = answer.claims()
  // The library checks the claims but not the signature of a token received over TLS.
  if (keys) await compactVerify(answer.id_token ?? '', keys)
  const profile = claims
    ? // The actual issuer: with several tenants, two may use the same user id.
      { ...profileOf(provider, await openIdClaims(configuration, token, claimsOf(claims))), issuer: claims.iss }
    : await oauth2Profile(configuration, provider, token)
  return {
    profile,
    tokens: {
      access_token: token,
      refresh_token: answer.refresh_token ?? null,
      scope: answer.scope ?? null,
      expires_in: answer.expires_in ?? null,
    },
  }
}

/**
 * Combines the claims of the id_token and the user info endpoint. Address and verification always come from the same
 * source.
 */
async function openIdClaims(connection: Configuration, token: string, claims: Claims): Promise<Claims> {
  const isComplete = claims.email !== undefined && claims.name !== undefined
  if (isComplete || !connection.serverMetadata().userinfo_endpoint) return claims
  const info = claimsOf(await fetchUserInfo(connection, token, String(claims.sub)))
  if (claims.email === undefined) return { ...claims, email_verified: undefined, ...info, sub: claims.sub }
  const { email, email_verified } = claims
  return { ...info, ...claims, email, email_verified }
}

async function oauth2Profile(
  connection: Configuration,
  provider: SocialProvider,
  token: string,
): Promise<SocialProfile> {
  const url = new URL(provider.endpoints?.userinfo ?? '')
  if (provider.appSecretProof) {
    const proof = createHmac('sha256', provider.config.client_secret ?? '').update(token)
    url.searchParams.set('appsecret_proof', proof.digest('hex'))
  }
  const answer = await read(connection, token, url)
  if (answer.status !== 200) throw new Error(`the profile endpoint returned ${answer.status}`)
  const profile = profileOf(provider, claimsOf(await answer.json()))
  if (provider.emails === null) return profile
  const list = new URL(url)
  list.pathname += '/emails'
  const addresses = await read(connection, token, list)
  // Without access to addresses, only known users can sign in.
  if ([403, 404].includes(addresses.status)) return { ...profile, email: null }
  if (addresses.status !== 200) throw new Error(`the address endpoint returned ${addresses.status}`)
  const email = primaryEmail(provider.emails, await addresses.json())
  return { ...profile, email: email && { ...email, verified: email.verified && provider.trustsEmail } }
}

function read(connection: Configuration, token: string, url: URL): Promise<Response> {
  // GitHub requires a user agent.
  const headers = new Headers({ accept: 'application/json', 'user-agent': 'svc' })
  return fetchProtectedResource(connection, token, url, 'GET', null, headers)
}
