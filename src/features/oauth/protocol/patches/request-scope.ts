import type Provider from 'oidc-provider'
import type { Config } from '../../../../platform/config/schema.ts'
import { settledClaims } from '../../clients/claims.ts'
import type { Registry } from '../../clients/clients.ts'
import { isScopeList, knownScopes } from '../../clients/scopes.ts'
import { settledResource } from '../../clients/targets.ts'
import { settledAcrValues } from './authentication-context.ts'
import { patch } from './patch.ts'

/** Routes where a client requests scopes. */
const asking = new Set(['authorization', 'device_authorization', 'pushed_authorization_request'])

type Fields = Record<string, unknown>

type Context = InstanceType<Provider['OIDCContext']>

type Entity = (this: Context, key: string, value: object) => void

/** Parts of a request that the library has read when it finds the client. */
interface Reading {
  route: string
  params?: Fields
  /** Body of a POST. Some endpoints read their parameters from it after finding the client. */
  body?: Fields
  ctx?: { query: Fields }
}

/**
 * Normalises the scopes, resources, claims and `acr_values` of a request once the library knows its client. Ignores unknown
 * scopes (OpenID Connect Core section 3.1.2.1) and unknown `acr_values`. A request without `scope` gets the scopes of its
 * client; an empty field counts as absent (RFC 6749 section 3.1).
 */
export function settleScope(provider: Provider, config: Config, registry: Registry): void {
  const known = knownScopes(config)
  patch<Entity>(
    provider,
    ['OIDCContext.prototype', 'entity'],
    'settles scope, resource and acr_values as soon as the client is known',
    (entity) =>
      function noteClient(this: Context & Reading, key: string, value: { clientId?: string }) {
        entity.call(this, key, value)
        // A request that failed before the library read its parameters. Its error handler needs them.
        if (key === 'Client' && this.route === 'authorization') this.params ??= { ...(this.body ?? this.ctx?.query) }
        if (key === 'Client') settle(this, value.clientId)
      },
  )

  function settle({ route, params, body }: Reading, clientId: string | undefined): void {
    if (!params || (route !== 'token' && !asking.has(route))) return
    if (typeof params.acr_values === 'string') params.acr_values = settledAcrValues(params.acr_values)
    if (typeof body?.acr_values === 'string') body.acr_values = settledAcrValues(body.acr_values)
    if (typeof params.claims === 'string') params.claims = settledClaims(params.claims, registry, clientId)
    if (typeof body?.claims === 'string') body.claims = settledClaims(body.claims, registry, clientId)
    const resource = settledResource(params.resource || body?.resource || undefined, registry.targets(clientId))
    params.resource = resource
    if (body && resource !== undefined) body.resource = resource
    const asked = trimmed(params.scope || body?.scope)
    const isMachine = route === 'token' && params.grant_type === 'client_credentials'
    // The library drops offline_access without this prompt (OpenID Connect Core section 11), and svc asks these clients anyway.
    if (asking.has(route) && registry.isDocument(clientId) && !params.request_uri) {
      params.prompt ||= body?.prompt || 'consent'
      if (body) body.prompt = params.prompt
    }
    if (asked) set(allowedPart(asked, clientId, route) ?? insteadOfNothing(asked, params))
    // A pushed request already has its scopes.
    else if (isMachine) set(registry.apiScopes(clientId, resource).join(' ') || undefined)
    else if (route !== 'token' && !params.request_uri) set(registry.defaultScope(clientId, resource))

    function set(scope: unknown): void {
      if (!params || scope === params.scope) return
      params.scope = scope
      if (body) body.scope = scope
    }
  }

  /**
   * Known scopes, or null for none; of a client that nobody registered, those that it can get. The library rejects values that
   * are not a list of scopes.
   */
  function allowedPart(asked: unknown, clientId: string | undefined, route: string): unknown {
    if (typeof asked !== 'string' || !isScopeList(asked)) return asked
    const isLimited = asking.has(route) && registry.isDocument(clientId)
    const allowed = isLimited ? new Set(registry.documents.scopes) : known
    const scopes = asked.split(' ').filter((name) => allowed.has(name))
    return scopes.length > 0 ? scopes.join(' ') : isLimited ? asked : null
  }
}

/** Some clients join scopes with spaces at the ends. */
const trimmed = (scope: unknown): unknown => (typeof scope === 'string' ? scope.replace(/^ +| +$/g, '') : scope)

/** Scopes of a request that names only unknown ones: never more than it requested. */
function insteadOfNothing(asked: unknown, { grant_type }: Fields): unknown {
  // A machine gets a token without scopes, a refresh the scopes of its token.
  if (grant_type === 'client_credentials' || grant_type === 'refresh_token') return undefined
  // The exchange itself compares the scopes with those of the subject token.
  return grant_type === undefined || grant_type === 'password' ? 'openid' : asked
}
