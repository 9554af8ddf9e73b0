import { isDeepStrictEqual } from 'node:util'
import { errors } from 'oidc-provider'
import { isLoopback } from '../../../platform/config/hosts.ts'
import { chooseTarget, requestTargets } from '../clients/choose-target.ts'
import { isGrantType, type Registry } from '../clients/clients.ts'
import { scopesOfTargets, settledResource } from '../clients/targets.ts'
import { granted, type TokenFacts } from './recorded-tokens.ts'

/** Errors that depend on the registered clients. All others depend on the request, the user or the time. */
const byConfiguration = [
  '400 invalid_scope',
  '400 unauthorized_client',
  '400 invalid_redirect_uri',
  '400 invalid_target',
]

/** Error of a request whose client is unknown, or did not authenticate. */
const invalidClient = /^40[01] invalid_client$/

/** Tests whether a client still authenticates as with the other registry. Then its former secrets work too. */
function authenticatesAs(clientId: string, registry: Registry, other: Registry): boolean {
  const [now, before] = [registry, other].map((one) => one.metadata.get(clientId))
  const keys = ['token_endpoint_auth_method', 'jwks', 'jwks_uri', 'dpop_bound_access_tokens'] as const
  const isSame = keys.every((key) => isDeepStrictEqual(now?.[key], before?.[key]))
  return isSame && other.secretHashes(clientId).every((hash) => registry.secretHashes(clientId).includes(hash))
}

/**
 * Decides about a recorded request as the OAuth server would with these clients. Null if it depends on what svc did not look
 * at, such as the secret of a client that was unknown, or that has another secret than in `before`.
 */
export function decideTokensAgain(
  facts: TokenFacts,
  registry: Registry,
  { known, before }: { known: ReadonlySet<string>; before: Registry },
): string | null {
  const { clientId, endpoint, verdict, scopes, isAsked, grant } = facts
  const isCode = endpoint === 'authorization'
  // The request itself was wrong.
  if (!isCode && !isGrantType(grant)) return verdict
  if (!registry.has(clientId)) return isCode ? '400 invalid_client' : '401 invalid_client'
  if (invalidClient.test(verdict)) return null
  if (!isCode && before.has(clientId) && !authenticatesAs(clientId, registry, before)) return null
  const refusal = refusalOf(facts, registry) ?? targetRefusal(facts, registry, known)
  if (refusal) return refusal
  const allowed = scopesOfTargets(registry.targets(clientId))
  const lost = isAsked ? [] : scopes.filter((name) => !allowed.has(name))
  if (lost.length > 0) return `${granted} without ${lost.join(' ')}`
  return byConfiguration.includes(verdict) ? granted : verdict
}

/** The error for scopes that the client may not have, unknown resources, and those that do not belong together. */
function targetRefusal(
  { clientId, endpoint, scopes, isAsked, resources }: TokenFacts,
  registry: Registry,
  known: ReadonlySet<string>,
): string | null {
  const targets = registry.targets(clientId)
  // svc ignores unregistered scopes.
  const asked = isAsked ? scopes.filter((name) => known.has(name)) : []
  const named = resources.length > 0 ? settledResource(resources, targets) : undefined
  try {
    const choose = endpoint === 'token' && isAsked ? chooseTarget : requestTargets
    choose(targets, asked, named)
    return null
  } catch (error) {
    if (!(error instanceof errors.OIDCProviderError)) throw error
    return `400 ${error.error}`
  }
}

/** The error for a grant or a redirect URI that the client may not use. */
function refusalOf({ endpoint, clientId, grant = '', redirectUri }: TokenFacts, registry: Registry): string | null {
  const metadata = registry.metadata.get(clientId)
  // For an unregistered client, the configuration only says whether svc accepts it.
  if (!metadata) return null
  const { grant_types: grants = [], redirect_uris: uris = [], application_type: type } = metadata
  if (!grants.includes(endpoint === 'authorization' ? 'authorization_code' : grant)) return '400 unauthorized_client'
  const isKnown = redirectUri === undefined || uris.some((uri) => isSameUri(uri, redirectUri, type))
  return isKnown ? null : '400 invalid_redirect_uri'
}

/** Native clients may use any port on loopback (RFC 8252 section 7.3). */
function isSameUri(registered: string, asked: string, type: string | undefined): boolean {
  if (registered === asked) return true
  const [one, other] = [URL.parse(registered), URL.parse(asked)]
  if (type !== 'native' || !one || !other || !isLoopback(one.hostname)) return false
  other.port = one.port
  return one.href === other.href
}
