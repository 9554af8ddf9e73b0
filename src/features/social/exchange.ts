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

/** What a code was worth. */
export interface Exchanged {
  profile: SocialProfile
  tokens: { access_token: string; refresh_token: string | null; scope: string | null; expires_in: number | null }
}

/** Redeems the code of an authorization response and reads whose it is; rejects whatever is wrong with any of it. */
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
  // The library checks the claims and leaves the signature of a token that came over TLS unchecked.
  if (keys) await compactVerify(answer.id_token ?? '', keys)
  const profile = claims
    ? // Who issued it, of many tenants too: two of them may know somebody by the same id.
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

/** The claims of the id_token, and what the user info endpoint adds: never the address of one with the word of the other. */
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
  if (answer.status !== 200) throw new Error(`the profile was answered with ${answer.status}`)
  const profile = profileOf(provider, claimsOf(await answer.json()))
  if (provider.emails === null) return profile
  const list = new URL(url)
  list.pathname += '/emails'
  const addresses = await read(connection, token, list)
  // What was not allowed to be read names nobody new; who is known comes in without.
  if ([403, 404].includes(addresses.status)) return { ...profile, email: null }
  if (addresses.status !== 200) throw new Error(`the addresses were answered with ${addresses.status}`)
  const email = primaryEmail(provider.emails, await addresses.json())
  return { ...profile, email: email && { ...email, verified: email.verified && provider.config.trust_email !== false } }
}

function read(connection: Configuration, token: string, url: URL): Promise<Response> {
  // GitHub answers nobody who does not say who is asking.
  const headers = new Headers({ accept: 'application/json', 'user-agent': 'svc' })
  return fetchProtectedResource(connection, token, url, 'GET', null, headers)
}
