import { errors, type KoaContextWithOIDC, type ResourceServer } from 'oidc-provider'
import type { Config } from '../../../config/schema.ts'
import { audienceOf, resourceOf } from './audience.ts'
import { openidScopes, type RegisteredClient, type Registry } from './clients.ts'

/** Throws `invalid_scope` for an API scope that the client does not list. */
function refuseForeignScopes(scope: string | undefined, allowed: readonly string[]): void {
  const known = new Set<string>([...openidScopes, ...allowed])
  const foreign = scope?.split(' ').find((name) => name !== '' && !known.has(name))
  if (foreign !== undefined) throw new errors.InvalidScope('requested scope is not allowed', foreign)
}

const secondsOf = (milliseconds: number): number => Math.max(1, Math.floor(milliseconds / 1000))

/** The library's settings for the one resource of a client's tokens. */
export function resourceServer(
  config: Config,
  client: RegisteredClient | undefined,
  apiScopes: readonly string[],
): ResourceServer {
  return {
    scope: [...openidScopes, ...apiScopes].join(' '),
    audience: audienceOf(config, client),
    accessTokenFormat: 'jwt',
    accessTokenTTL: secondsOf(client?.access_token_ttl ?? config.oauth.access_token_ttl),
    jwt: { sign: { alg: config.oauth.access_token_alg } },
  }
}

/** Resource indicators for the library, from the registry. Each client has one audience. */
export function resourceIndicators(config: Config, registry: Registry) {
  return {
    enabled: true,
    defaultResource: (_ctx: KoaContextWithOIDC, client: { clientId: string }) =>
      resourceOf(audienceOf(config, registry.client(client.clientId))),
    useGrantedResource: () => true,
    getResourceServerInfo: (ctx: KoaContextWithOIDC, resource: string, { clientId }: { clientId: string }) => {
      const client = registry.client(clientId)
      if (resource !== resourceOf(audienceOf(config, client))) throw new errors.InvalidTarget()
      const scopes = client?.scopes ?? []
      refuseForeignScopes(String(ctx.oidc.params?.scope ?? ''), scopes)
      return resourceServer(config, client, scopes)
    },
  }
}
