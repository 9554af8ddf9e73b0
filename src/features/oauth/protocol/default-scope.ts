import type Provider from 'oidc-provider'
import type { Registry } from './clients.ts'

/** Where a client names the scopes of what it asks for. */
const asking = new Set(['authorization', 'device_authorization', 'pushed_authorization_request'])

type Fields = Record<string, unknown>

type Context = InstanceType<Provider['OIDCContext']>

/** What the library has read of a request when it learns which client asks. */
interface Reading {
  route: string
  params?: Fields
  /** Of a POST: some endpoints read their parameters from it once the client is known. */
  body?: Fields
}

/**
 * Gives a request that names no scope those of its client, as soon as the library knows the client: an absent scope
 * is not an empty one. A field without a value counts as absent (RFC 6749 section 3.1).
 */
export function giveDefaultScope(provider: Provider, registry: Registry): void {
  const { prototype } = provider.OIDCContext
  const { entity } = prototype
  if (typeof entity !== 'function') throw new Error('The OAuth library notes its entities elsewhere.')
  prototype.entity = function noteClient(this: Context & Reading, key: string, value: { clientId?: string }) {
    entity.call(this, key, value)
    if (key === 'Client') complete(this, value.clientId)
  }

  function complete({ route, params, body }: Reading, clientId: string | undefined): void {
    if (!params || params.scope || body?.scope) return
    const isMachine = route === 'token' && params.grant_type === 'client_credentials'
    // What was pushed has its scopes already.
    if (!isMachine && (!asking.has(route) || params.request_uri)) return
    const scope = isMachine ? registry.client(clientId)?.scopes.join(' ') : registry.defaultScope(clientId)
    if (!scope) return
    params.scope = scope
    if (body) body.scope = scope
  }
}
