import {
  type AuthorizationCodeGrantChecks,
  AuthorizationResponseError,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
} from 'openid-client'
import { useOnce } from '../../auth/access/used-once.ts'
import type { Services, Visit } from '../../auth/access/visit.ts'
import type { Cipher } from '../../platform/crypto/cipher.ts'
import { HttpError } from '../../platform/errors.ts'
import { type Opened, openAccount } from './account.ts'
import type { LinkFacts } from './decide-link.ts'
import { type SocialFailure, socialFailure } from './failure.ts'
import type { FlowRequest } from './flow-request.ts'
import { acceptWithIdentity } from './invitation/accept.ts'
import { noteRefused } from './link-on-sign-in/pending.ts'
import type { Connections } from './providers/connections.ts'
import { type Exchanged, exchange } from './providers/exchange.ts'
import { appleName } from './providers/profile.ts'
import type { SocialProvider } from './providers/provider.ts'
import { ProviderError } from './providers/provider-error.ts'
import { cookieAge, type Flow, flowTtl, newFlow, parametersOf } from './state.ts'
import type { StoredIdentity } from './store.ts'

/** Dependencies of a flow. */
export interface FlowParts {
  connections: Connections
  /** Encrypts stored provider tokens. */
  tokenCipher: Cipher
}

/** Path of a provider's redirect URI. */
export const callbackPath = (provider: string): string => `/auth/${provider}/callback`

/** Failures of svc for error codes of providers. All others are `provider_error`. */
const failuresByCode = new Map<string, SocialFailure>([
  ['access_denied', 'access_denied'],
  ['user_cancelled_login', 'access_denied'],
  ['user_cancelled_authorize', 'access_denied'],
  // GitHub, for a user without a verified address.
  ['unverified_user_email', 'email_unverified'],
])

/** Returns the failure for the parameters of a callback that belongs to no flow. Only some providers return the state. */
export function failureWithoutFlow(query: URLSearchParams): HttpError {
  const code = errorIn(query)
  if (query.has('state') || code === null) return socialFailure('invalid_state')
  return socialFailure(failuresByCode.get(code) ?? 'provider_error', new ProviderError('the provider refused', code))
}

/** The error code in a callback. Facebook sends a number for errors of the app. */
function errorIn(query: URLSearchParams): string | null {
  const number = query.get('error_code')
  return query.get('error') ?? (number === null ? null : `error_code ${number}`)
}

/**
 * Starts a flow; returns the URL for the browser and the flow to store. Throws `provider_error` if the provider is
 * unavailable.
 */
export async function beginFlow(
  { config, clock }: Pick<Services, 'config' | 'clock'>,
  { connections }: FlowParts,
  provider: SocialProvider,
  flowRequest: FlowRequest,
): Promise<{ url: string; flow: Flow }> {
  const flow = newFlow({ ...flowRequest, provider: provider.id, startedAt: clock.now() })
  const { state, nonce, verifier } = parametersOf(flow)
  try {
    const { configuration } = await connections.to(provider)
    const challenge = await calculatePKCECodeChallenge(verifier)
    const url = buildAuthorizationUrl(configuration, {
      redirect_uri: new URL(callbackPath(provider.id), config.current().app.url).href,
      scope: provider.scope,
      state,
      ...(provider.usesNonce ? { nonce } : {}),
      ...(provider.usesPkce ? { code_challenge: challenge, code_challenge_method: 'S256' } : {}),
      ...provider.authorize,
      ...(flow.isReauthentication ? provider.reauthenticate : {}),
    })
    // Some providers take a plus sign literally; all decode `%20`.
    return { url: url.href.replaceAll('+', '%20'), flow }
  } catch (error) {
    throw socialFailure('provider_error', error)
  }
}

/**
 * Finishes a flow with the query of the provider's response, and returns the account. Throws the failure. Always uses up
 * the flow first.
 */
export async function finishFlow(
  visit: Visit,
  parts: FlowParts,
  provider: SocialProvider,
  { flow, query }: { flow: Flow; query: string },
): Promise<Opened> {
  const { config, clock, database } = visit.app
  const now = clock.now()
  const { state, nonce, verifier } = parametersOf(flow)
  if (now - flow.startedAt >= flowTtl) throw socialFailure('expired')
  if (!(await useOnce(database, 'SocialState', state, flow.startedAt + cookieAge * 1000))) {
    throw socialFailure('invalid_state', 'used before')
  }
  if (flow.intent === 'link' && !provider.config.link) throw socialFailure('access_denied', 'links are off')
  if (flow.intent === 'confirm' && !provider.provesTime) throw socialFailure('access_denied', 'no auth_time')
  const purpose = { asker: askerOf(visit, flow), invitation: flow.invitation ?? null }
  const response = new URL(callbackPath(provider.id), config.current().app.url)
  response.search = query
  // The path identifies the provider: each has its own (RFC 9700 section 4.4.2).
  if (provider.endpoints) response.searchParams.delete('iss')
  const refusal = errorIn(response.searchParams)
  if (refusal !== null) response.searchParams.set('error', refusal)
  const exchanged = await redeem(parts, provider, response, {
    expectedState: state,
    ...(provider.usesNonce ? { expectedNonce: nonce } : {}),
    ...(provider.usesPkce ? { pkceCodeVerifier: verifier } : {}),
    // The provider must prove that the user authenticated after the flow began, with 30 seconds of clock tolerance.
    ...(flow.isReauthentication && provider.provesTime
      ? { maxAge: Math.ceil((clock.now() - flow.startedAt) / 1000) + 30 }
      : {}),
  })
  const { profile } = exchanged
  const name = profile.name ?? (provider.id === 'apple' ? appleName(response.searchParams.get('user')) : null)
  return open(visit, parts, provider, { ...exchanged, profile: { ...profile, name } }, purpose)
}

/** Redeems the provider's response; converts every error to a failure code. */
async function redeem(
  { connections }: FlowParts,
  provider: SocialProvider,
  response: URL,
  checks: AuthorizationCodeGrantChecks,
): Promise<Exchanged> {
  try {
    return await exchange(connections, provider, response, checks)
  } catch (thrown) {
    // The library wraps errors of its requests.
    const error = thrown instanceof Error && thrown.cause instanceof ProviderError ? thrown.cause : thrown
    const isRefusal = error instanceof AuthorizationResponseError || error instanceof ProviderError
    const code = isRefusal ? failuresByCode.get(error.error ?? '') : undefined
    throw socialFailure(code ?? 'provider_error', error)
  }
}

/** A code that a mobile app received, and the proof of that app. */
export interface MobileCode {
  code: string
  redirectUri: string
  verifier: string | null
  nonce: string | null
}

/** Returns the account for a mobile app's code. */
export async function finishMobile(
  visit: Visit,
  parts: FlowParts,
  provider: SocialProvider,
  { code, redirectUri, verifier, nonce }: MobileCode,
): Promise<Opened> {
  const response = new URL(redirectUri)
  response.search = ''
  response.searchParams.set('code', code)
  // The app received the response and checked its issuer.
  if (!provider.endpoints) {
    const { configuration } = await parts.connections.to(provider).catch((error: unknown) => {
      throw socialFailure('provider_error', error)
    })
    response.searchParams.set('iss', configuration.serverMetadata().issuer)
  }
  const exchanged = await redeem(parts, provider, response, {
    ...(nonce === null ? {} : { expectedNonce: nonce }),
    ...(verifier === null ? {} : { pkceCodeVerifier: verifier }),
  })
  return open(visit, parts, provider, exchanged, { asker: null, invitation: null })
}

/** Returns the signed-in user of the flow. Throws if another session began it. */
function askerOf({ caller }: Visit, { intent, session }: Flow): LinkFacts['asker'] {
  if (intent === 'sign_in' || intent === 'invitation') return null
  const isSame = caller?.kind === 'session' && caller.credentialId === session
  if (!isSame || !caller.user) throw socialFailure('invalid_state', 'another session')
  return { intent, userId: caller.user.id }
}

async function open(
  visit: Visit,
  { tokenCipher }: FlowParts,
  provider: SocialProvider,
  { profile, tokens }: Exchanged,
  { asker, invitation }: { asker: LinkFacts['asker']; invitation: string | null },
): Promise<Opened> {
  const kept = provider.config.store_tokens
    ? tokenCipher.encrypt(
        JSON.stringify({ ...tokens, received_at: visit.app.clock.now() }),
        `${provider.id} ${profile.providerId}`,
      )
    : null
  const identity: StoredIdentity = { ...profile, tokens: kept }
  if (invitation !== null) return acceptWithIdentity(visit, { provider, identity, token: invitation })
  try {
    return await openAccount(visit, { provider, identity, asker })
  } catch (error) {
    if (asker === null) noteRefused(error, identity)
    // The session ended during the request to the provider.
    if (error instanceof HttpError && error.statusCode === 401) throw socialFailure('invalid_state', error)
    throw error
  }
}
