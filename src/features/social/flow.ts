import type { FastifyRequest } from 'fastify'
import {
  type AuthorizationCodeGrantChecks,
  AuthorizationResponseError,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
} from 'openid-client'
import { useOnce } from '../../access/used-once.ts'
import type { Cipher } from '../../crypto/cipher.ts'
import { HttpError } from '../../errors.ts'
import { type ClaimAccount, type Opened, openAccount } from './account.ts'
import type { Connections } from './connections.ts'
import type { LinkFacts } from './decide-link.ts'
import { type Exchanged, exchange } from './exchange.ts'
import { socialFailure } from './failure.ts'
import { appleName } from './profile.ts'
import type { SocialProvider } from './provider.ts'
import { cookieAge, type Flow, flowTtl, newFlow, proofsOf } from './state.ts'
import type { StoredIdentity } from './store.ts'
import type { Wish } from './wish.ts'

/** What every flow needs. */
export interface FlowParts {
  connections: Connections
  /** Encrypts what is kept of a provider's tokens. */
  tokenCipher: Cipher
  claimAccount: ClaimAccount
}

/** The URI that a provider sends browsers back to. */
export const callbackPath = (provider: string): string => `/auth/${provider}/callback`

/** The query of a request as it came, without its question mark. */
export const queryOf = ({ url }: FastifyRequest): string => url.split('?').slice(1).join('?')

/** What providers call it that somebody declined. */
const denials = new Set(['access_denied', 'user_cancelled_login', 'user_cancelled_authorize'])

/** Begins a flow: where the browser goes, and what it has to keep. Throws `provider_error` when the provider cannot be had. */
export async function beginFlow(
  request: FastifyRequest,
  { connections }: FlowParts,
  provider: SocialProvider,
  wish: Wish,
): Promise<{ url: string; flow: Flow }> {
  const { config, clock } = request.server
  const flow = newFlow({ ...wish, provider: provider.id, startedAt: clock.now() })
  const { state, nonce, verifier } = proofsOf(flow)
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
      ...(flow.isAnew ? provider.reauthenticate : {}),
    })
    // Some take a plus sign for itself; `%20` is read alike by all.
    return { url: url.href.replaceAll('+', '%20'), flow }
  } catch (error) {
    throw socialFailure('provider_error', error)
  }
}

/** Whom the identity opens that the provider answered with; throws the failure. The flow is used up before anything of the answer is looked at. */
export async function finishFlow(
  request: FastifyRequest,
  parts: FlowParts,
  provider: SocialProvider,
  flow: Flow,
): Promise<Opened> {
  const { config, clock, database } = request.server
  const now = clock.now()
  const { state, nonce, verifier } = proofsOf(flow)
  if (now - flow.startedAt >= flowTtl) throw socialFailure('expired')
  if (!(await useOnce(database, 'SocialState', state, flow.startedAt + cookieAge * 1000))) {
    throw socialFailure('invalid_state', 'used before')
  }
  if (flow.intent === 'link' && !provider.config.link) throw socialFailure('access_denied', 'links are off')
  if (flow.intent === 'confirm' && !provider.provesTime) throw socialFailure('access_denied', 'no auth_time')
  const asker = askerOf(request, flow)
  const response = new URL(callbackPath(provider.id), config.current().app.url)
  response.search = queryOf(request)
  // Whose answer it is shows the path: each provider has its own (RFC 9700 section 4.4.2).
  if (provider.endpoints) response.searchParams.delete('iss')
  const exchanged = await redeem(parts, provider, response, {
    expectedState: state,
    ...(provider.usesNonce ? { expectedNonce: nonce } : {}),
    ...(provider.usesPkce ? { pkceCodeVerifier: verifier } : {}),
    // The provider must state that the user authenticated after the flow began; half a minute is for its clock.
    ...(flow.isAnew && provider.provesTime ? { maxAge: Math.ceil((clock.now() - flow.startedAt) / 1000) + 30 } : {}),
  })
  const { profile } = exchanged
  const name = profile.name ?? (provider.id === 'apple' ? appleName(response.searchParams.get('user')) : null)
  return open(request, parts, provider, { ...exchanged, profile: { ...profile, name } }, asker)
}

/** Redeems what a provider answered; whatever is wrong with it is a failure of the contract. */
async function redeem(
  { connections }: FlowParts,
  provider: SocialProvider,
  response: URL,
  checks: AuthorizationCodeGrantChecks,
): Promise<Exchanged> {
  try {
    return await exchange(connections, provider, response, checks)
  } catch (error) {
    const isDenied = error instanceof AuthorizationResponseError && denials.has(error.error)
    throw socialFailure(isDenied ? 'access_denied' : 'provider_error', error)
  }
}

/** A code that a mobile app got by itself, and what proves that it was this app. */
export interface MobileCode {
  code: string
  redirectUri: string
  verifier: string | null
  nonce: string | null
}

/** Whom a code of a mobile app opens. */
export async function finishMobile(
  request: FastifyRequest,
  parts: FlowParts,
  provider: SocialProvider,
  { code, redirectUri, verifier, nonce }: MobileCode,
): Promise<Opened> {
  const response = new URL(redirectUri)
  response.search = ''
  response.searchParams.set('code', code)
  // The app has received the answer, and checked its issuer.
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
  return open(request, parts, provider, exchanged, null)
}

/** The signed-in user whom the flow concerns; throws when it is not the session any more that began it. */
function askerOf({ caller }: FastifyRequest, { intent, session }: Flow): LinkFacts['asker'] {
  if (intent === 'sign_in') return null
  const isSame = caller?.kind === 'session' && caller.credentialId === session
  if (!isSame || !caller.user) throw socialFailure('invalid_state', 'another session')
  return { intent, userId: caller.user.id }
}

async function open(
  request: FastifyRequest,
  { tokenCipher, claimAccount }: FlowParts,
  provider: SocialProvider,
  { profile, tokens }: Exchanged,
  asker: LinkFacts['asker'],
): Promise<Opened> {
  const kept = provider.config.store_tokens
    ? tokenCipher.encrypt(
        JSON.stringify({ ...tokens, received_at: request.server.clock.now() }),
        `${provider.id} ${profile.providerId}`,
      )
    : null
  const identity: StoredIdentity = { ...profile, tokens: kept }
  try {
    return await openAccount(request, { provider, identity, asker, claimAccount })
  } catch (error) {
    // The session ended while the provider was asked.
    if (error instanceof HttpError && error.statusCode === 401) throw socialFailure('invalid_state', error)
    throw error
  }
}
