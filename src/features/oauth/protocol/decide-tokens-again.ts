import { isLoopback } from '../../../platform/config/hosts.ts'
import type { Registry } from '../clients/clients.ts'
import { settledResource } from '../clients/targets.ts'
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

/**
 * Decides about a recorded request as the OAuth server would with these clients. Null if it depends on what svc did not look
 * at, such as the secret of a client that was unknown.
 */
export function decideTokensAgain(facts: TokenFacts, registry: Registry, known: ReadonlySet<string>): string | null {
  const { clientId, verdict, scopes, isAsked } = facts
  if (!registry.has(clientId)) return '401 invalid_client'
  if (invalidClient.test(verdict)) return null
  const refusal = refusalOf(facts, registry)
  if (refusal) return refusal
  const targets = registry.targets(clientId)
  const allowed = new Set(targets.flatMap(({ tokenScopes }) => [...tokenScopes]))
  // svc ignores scopes that nobody registered.
  const lost = scopes.filter((name) => !allowed.has(name) && (known.has(name) || !isAsked))
  if (lost.length > 0) return isAsked ? '400 invalid_scope' : `${granted} without ${lost.join(' ')}`
  return byConfiguration.includes(verdict) ? granted : verdict
}

/** The error for a grant, a redirect URI or a resource that the client may not use. */
function refusalOf(
  { endpoint, clientId, grant, redirectUri, resources }: TokenFacts,
  registry: Registry,
): string | null {
  const targets = registry.targets(clientId)
  // svc fetches the metadata of a client that nobody registered; the configuration only says whether it accepts it.
  const metadata = registry.metadata.get(clientId)
  const grants = metadata?.grant_types ?? []
  const isCode = endpoint === 'authorization'
  if (metadata && !grants.includes(isCode ? 'authorization_code' : (grant ?? ''))) return '400 unauthorized_client'
  const uris = metadata?.redirect_uris ?? []
  if (
    metadata &&
    redirectUri !== undefined &&
    !uris.some((uri) => isSameUri(uri, redirectUri, metadata.application_type))
  )
    return '400 invalid_redirect_uri'
  const isKnown = (resource: string) => targets.some((target) => target.resource === settledResource(resource, targets))
  return resources.every(isKnown) ? null : '400 invalid_target'
}

/** Native clients may use any port on loopback (RFC 8252 section 7.3). */
function isSameUri(registered: string, asked: string, type: string | undefined): boolean {
  if (registered === asked) return true
  const [one, other] = [URL.parse(registered), URL.parse(asked)]
  if (type !== 'native' || !one || !other || !isLoopback(one.hostname)) return false
  other.port = one.port
  return one.href === other.href
}
