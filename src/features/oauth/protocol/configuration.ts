import Keygrip from 'keygrip'
import type { ClientAuthMethod, Configuration } from 'oidc-provider'
import type { Cookies } from '../../../auth/access/cookies.ts'
import { proofAlgorithms } from '../../../auth/access/dpop.ts'
import type { User } from '../../../identity/user.ts'
import { deriveSecret } from '../../../platform/crypto/keys.ts'
import type { OutboundFetch } from '../../../platform/http/outbound.ts'
import { acrValues, type Factors } from '../authentication-context.ts'
import type { ClientDocuments } from '../client-documents/client-documents.ts'
import { resourceIndicators } from '../clients/choose-target.ts'
import { claimsOf, idTokenClaimsOf } from '../clients/claims.ts'
import { servedScopes } from '../clients/scopes.ts'
import type { PrivateJwk } from '../keys/jwk.ts'
import type { StatusLists } from '../status-lists/status-lists.ts'
import { statusOf } from '../status-lists/status-of.ts'
import { type AdapterParts, RecordAdapter } from './adapter.ts'
import { checkAssertion, checkProof } from './assertions.ts'
import { requestFactsOf } from './browser.ts'
import { cookieOptions, interactionCookie, resumeCookie, sessionCookie, sessionCookieOptions } from './cookie-names.ts'
import { loadExistingGrant } from './grants.ts'
import { assertClaims, interactionPolicyOf } from './interaction-policy.ts'
import { originClaims } from './issued-token.ts'
import { devicePages, logoutPages, renderError } from './pages.ts'
import { protocolRoutes } from './paths.ts'
import { SigningKey } from './signing-key.ts'
import { decidedClaims, decideToken, isTokenDecided } from './token-decision.ts'
import { userClaims } from './user-claims.ts'

export interface ProtocolParts extends AdapterParts {
  /** Private keys. The first one of each algorithm signs. */
  keys: readonly PrivateJwk[]
  statusLists: StatusLists
  documents: ClientDocuments
  fetch: OutboundFetch
  cookies: Cookies
  findConsent: (userId: number, clientId: string) => Promise<readonly string[]>
  /** Second factors of a user. */
  factorsOf: (user: User) => Promise<Factors>
}

const originOf = (uri: string): string | undefined => URL.parse(uri)?.origin

const seconds = (milliseconds: number): number => Math.max(1, Math.floor(milliseconds / 1000))
const years = 10 * 365 * 86_400
const interactionSeconds = 3_600

const clientAuthMethods: ClientAuthMethod[] = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none']
const signing = ['RS256', 'ES256', 'EdDSA'] as const

/** The library's complete configuration. */
export function configurationOf(parts: ProtocolParts): Configuration {
  const { config, cookies, registry, lookups } = parts
  const { oauth, app } = config
  const isHttps = app.url.startsWith('https://')
  const cookieKeys = app.secret.map((secret) => deriveSecret(secret, 'oauth-cookies').toString('base64url'))
  const refreshSeconds = (clientId: string | undefined) => seconds(registry.refreshTtl(clientId))
  const policy = interactionPolicyOf(parts)
  return {
    adapter: (kind: string) => new RecordAdapter(kind, parts),
    // Listed here, because of the clients that an adapter finds, the library caches only a hundred.
    clients: [...registry.metadata.values()],
    jwks: { keys: parts.keys.map((key) => new SigningKey(key)) },
    routes: protocolRoutes,
    responseTypes: ['code'],
    scopes: [...servedScopes],
    claims: { ...registry.claimsByScope } as Record<string, string[]>,
    acrValues,
    subjectTypes: ['public'],
    clientAuthMethods,
    enabledJWA: {
      idTokenSigningAlgValues: [...signing],
      clientAuthSigningAlgValues: [...proofAlgorithms],
      dPoPSigningAlgValues: [...proofAlgorithms],
    },
    assertJwtClientAuthClaimsAndHeader: checkAssertion,
    clientDefaults: { id_token_signed_response_alg: 'RS256' },
    pkce: {
      required: (_ctx, { clientAuthMethod, clientId }) =>
        clientAuthMethod === 'none' || registry.client(clientId)?.fapi === true || registry.isDocument(clientId),
    },
    cookies: {
      names: { session: cookies.nameOf(sessionCookie), interaction: interactionCookie, resume: resumeCookie },
      // For a list of keys, the library would use SHA-1.
      keys: new Keygrip(cookieKeys, 'sha256'),
      long: sessionCookieOptions(isHttps),
      // The name and the value are the uid, which is too random to guess.
      short: { ...cookieOptions(isHttps), signed: false, sameSite: 'lax' },
    },
    enableHttpPostMethods: isHttps,
    acceptQueryParamAccessTokens: false,
    // The library publishes the authentication methods of the token endpoint only. These endpoints accept the same.
    discovery: {
      client_id_metadata_document_supported: config.oauth.client_id_metadata.enabled || undefined,
      // Initiating User Registration via OpenID Connect section 5.
      prompt_values_supported: ['none', ...policy.map(({ name }) => name)],
      ...Object.fromEntries(
        ['introspection', 'revocation'].flatMap((endpoint) => [
          [`${endpoint}_endpoint_auth_methods_supported`, clientAuthMethods],
          [`${endpoint}_endpoint_auth_signing_alg_values_supported`, [...proofAlgorithms]],
        ]),
      ),
    },
    // `findAccount` decides which claims an ID token carries: this switch has no effect on tokens with an audience.
    conformIdTokenClaims: false,
    findAccount: async (ctx, sub) => {
      const browserUser = requestFactsOf(ctx.req).signedIn?.user
      const known = browserUser && String(browserUser.id) === sub ? browserUser : undefined
      const user = /^\d{1,16}$/.test(sub) ? (known ?? (await lookups.user(BigInt(sub)))) : null
      if (!user || user.disabled) return undefined
      return {
        accountId: sub,
        claims: (use: string, _scope: string, asked?: object) => {
          const { clientId } = ctx.oidc.client ?? {}
          return use === 'id_token'
            ? idTokenClaimsOf(config, user, registry, clientId, asked)
            : claimsOf(user, config, registry, clientId)
        },
      }
    },
    loadExistingGrant: loadExistingGrant(config, registry, parts.findConsent),
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: (ctx) => !ctx.oidc.isFapi('2.0'),
    expiresWithSession: (_ctx, source) => source.kind !== 'DeviceCode' && !source.scopes.has('offline_access'),
    extraTokenClaims: async (ctx, token) => {
      if (registry.isDocument(token.clientId)) {
        await parts.documents.noteUse(token.clientId, registry.refreshTtl(token.clientId))
      }
      // Machines, and grants that use nothing up. Others have asked before.
      if (config.hooks.before_token && !isTokenDecided(ctx)) {
        const user = token.kind === 'ClientCredentials' ? null : await lookups.user(BigInt(token.accountId))
        await decideToken(ctx, { user, scopes: token.scopes, audience: String(token.aud) })
      }
      const claims =
        token.kind === 'ClientCredentials'
          ? { gty: 'client_credentials', workload: requestFactsOf(ctx.req).workload?.subject }
          : { gid: token.grantId, ...originClaims(ctx, token), ...(await userClaims(parts, token)) }
      return {
        ...decidedClaims(ctx),
        scopes: [...token.scopes],
        ...claims,
        ...(await statusOf(parts.statusLists, token, claims)),
      }
    },
    clientBasedCORS: (_ctx, origin, { clientId, redirectUris = [] }) =>
      registry.client(clientId)?.cors_origins.includes(origin) ?? redirectUris.some((uri) => originOf(uri) === origin),
    interactions: {
      policy,
      url: (_ctx, interaction) => `/oauth/interaction/${interaction.uid}`,
    },
    renderError: renderError(registry),
    fetch: parts.fetch,
    features: {
      devInteractions: { enabled: false },
      externalSigningSupport: { enabled: true, ack: 'experimental-01' },
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: true, charset: 'base-20', mask: '****-****', ...devicePages(registry) },
      // The library authenticates the client, and svc answers (`answerIntrospection`).
      introspection: { enabled: true, allowedPolicy: () => false },
      revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
      resourceIndicators: resourceIndicators(registry),
      rpInitiatedLogout: { enabled: true, ...logoutPages(registry) },
      backchannelLogout: { enabled: true },
      pushedAuthorizationRequests: { enabled: true },
      dPoP: { enabled: true, nonceSecret: deriveSecret(app.secret[0] ?? '', 'dpop-nonce'), requireNonce: checkProof },
      fapi: { enabled: true, profile: (_ctx, client) => (registry.client(client?.clientId)?.fapi ? '2.0' : undefined) },
      userinfo: { enabled: true },
      claimsParameter: { enabled: true, assertClaimsParameter: assertClaims },
    },
    extraClientMetadata: { properties: [] },
    ttl: {
      AccessToken: (_ctx, token) => token.resourceServer?.accessTokenTTL ?? seconds(oauth.access_token_ttl),
      ClientCredentials: (_ctx, token) => token.resourceServer?.accessTokenTTL ?? seconds(oauth.access_token_ttl),
      AuthorizationCode: seconds(oauth.authorization_code_ttl),
      DeviceCode: seconds(oauth.device_code_ttl),
      IdToken: (_ctx, _token, client) =>
        seconds(registry.client(client.clientId)?.access_token_ttl ?? oauth.access_token_ttl),
      RefreshToken: (_ctx, _token, client) => refreshSeconds(client.clientId),
      Interaction: interactionSeconds,
      // The library never extends these two. The adapter ends their rows when nothing refers to them.
      Session: years,
      Grant: years,
    },
  }
}
