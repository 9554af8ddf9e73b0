import { createHmac } from 'node:crypto'
import { compactVerify, decodeProtectedHeader, errors } from 'jose'
import {
  type AuthorizationCodeGrantChecks,
  authorizationCodeGrant,
  type Configuration,
  fetchProtectedResource,
  WWWAuthenticateChallengeError,
} from 'openid-client'
import { canonicalEmail } from '../../../identity/user.ts'
import type { Connections, ProviderKeys } from './connections.ts'
import { addressIn, type Claims, claimsOf, hasClaim, primaryEmail, profileOf, type SocialProfile } from './profile.ts'
import type { SocialProvider } from './provider.ts'
import { ProviderError, requireOk } from './provider-error.ts'

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
  if (keys) await verify(answer.id_token ?? '', keys)
  const profile =
    claims && keys
      ? // The actual issuer: with several tenants, two may use the same user id.
        { ...(await openIdProfile({ configuration, keys, provider, token }, claimsOf(claims))), issuer: claims.iss }
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
 * Verifies a signature of a provider and returns the payload. If the token names no key, the cached keys may be old: then
 * fetches them again, once.
 */
async function verify(token: string, keys: ProviderKeys): Promise<string> {
  const verified = await compactVerify(token, keys).catch(async (error: unknown) => {
    if (!(error instanceof errors.JWSSignatureVerificationFailed) || decodeProtectedHeader(token).kid) throw error
    await keys.reload()
    return compactVerify(token, keys)
  })
  return new TextDecoder().decode(verified.payload)
}

interface OpenIdAnswer {
  configuration: Configuration
  keys: ProviderKeys
  provider: SocialProvider
  token: string
}

/**
 * Combines the claims of the ID token with those of the user info endpoint, if the ID token lacks some. The user info is
 * optional: users whom svc knows by their id need no address. Address and verification always come from the same source.
 */
async function openIdProfile(answer: OpenIdAnswer, claims: Claims): Promise<SocialProfile> {
  const { provider, configuration } = answer
  const { map } = provider
  const { groups, fields } = provider.config
  const wanted = [
    map.email,
    map.name,
    ...(groups ? [groups.claim] : []),
    ...Object.values(fields),
    ...(provider.trust === 'claim' ? [map.email_verified] : []),
  ]
  const isComplete = wanted.every((claim) => hasClaim(claims, claim))
  const endpoint = configuration.serverMetadata().userinfo_endpoint
  if (isComplete || !provider.readsUserInfo || !endpoint) return profileOf(provider, claims)
  try {
    return withUserInfo(provider, claims, await readUserInfo(answer, new URL(endpoint), claims))
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    const profile = profileOf(provider, claims)
    const reason = [error.message, error.error].filter(Boolean).join(': ')
    const emailProblem = profile.emailProblem && `${profile.emailProblem}, and ${reason}`
    // What is missing here may be in the user info.
    const known = groups && !hasClaim(claims, groups.claim) ? null : profile.groups
    const sent = Object.fromEntries(Object.entries(profile.fields).filter(([, value]) => value !== null))
    return { ...profile, emailProblem, groups: known, fields: sent, isComplete: false }
  }
}

function withUserInfo(provider: SocialProvider, claims: Claims, info: Claims): SocialProfile {
  const given = Object.entries(claims).filter(([, value]) => value !== null && value !== '')
  const profile = profileOf(provider, { ...info, ...Object.fromEntries(given) })
  const [first, second] = [addressIn(provider, claims), addressIn(provider, info)]
  const isSame =
    first.email && second.email && canonicalEmail(first.email.address) === canonicalEmail(second.email.address)
  const isStated = hasClaim(claims, provider.map.email_verified)
  const usesSecond = !first.email || (isSame && !isStated && second.email?.verified)
  return { ...profile, ...(usesSecond ? second : first) }
}

/** Reads the user info (OpenID Connect Core section 5.3): JSON or a signed JWT, about the same user. */
async function readUserInfo({ configuration, keys, token }: OpenIdAnswer, url: URL, { sub }: Claims): Promise<Claims> {
  const response = await read(configuration, token, url).catch((error: unknown) => {
    throw error instanceof WWWAuthenticateChallengeError
      ? new ProviderError(`the user info endpoint returned ${error.status}`, error.cause[0]?.parameters.error ?? null)
      : error
  })
  await requireOk(response, 'user info endpoint')
  const isSigned = response.headers.get('content-type')?.toLowerCase().startsWith('application/jwt')
  const text = await response.text()
  const json = isSigned ? await verify(text, keys) : text
  const info = claimsOf(JSON.parse(json))
  if (info.sub !== sub) throw new Error('the user info is about another user')
  return info
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
  await requireOk(answer, 'profile endpoint')
  const profile = profileOf(provider, claimsOf(await answer.json()))
  if (provider.emails === null) return profile
  const list = new URL(url)
  list.pathname += '/emails'
  // The primary address may be on a later page otherwise.
  list.searchParams.set(provider.emails === 'github' ? 'per_page' : 'pagelen', '100')
  const addresses = await read(connection, token, list)
  // Without access to addresses, only known users can sign in.
  if ([403, 404].includes(addresses.status))
    return { ...profile, email: null, emailProblem: `the address endpoint returned ${addresses.status}` }
  await requireOk(addresses, 'address endpoint')
  return { ...profile, ...primaryEmail(provider, await addresses.json()) }
}

function read(connection: Configuration, token: string, url: URL): Promise<Response> {
  // GitHub requires a user agent.
  const headers = new Headers({ accept: 'application/json', 'user-agent': 'svc' })
  return fetchProtectedResource(connection, token, url, 'GET', null, headers)
}
