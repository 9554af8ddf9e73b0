import type Provider from 'oidc-provider'
import type { Config } from '../../../../platform/config/schema.ts'
import { limitHeaderNames } from '../../../../platform/limits/too-many-requests.ts'
import type { Registry } from '../../clients/clients.ts'
import { registeredScopes, servedScopes } from '../../clients/scopes.ts'
import { protocolRoutes } from '../paths.ts'
import { patchAnswer } from './patch.ts'

/** Adds what the library omits from the published documents and from the response to a revocation. */
export function completeAnswers(provider: Provider, config: Config, registry: Registry, keysMaxAge: number): void {
  patchAnswer(provider, 'documents', 'completes metadata and cache headers', async (ctx, next) => {
    await next()
    const origin = ctx.response.get('access-control-allow-origin')
    if (origin) {
      const exposed = ctx.response.get('access-control-expose-headers') || ''
      const names = [...exposed.split(',').map((name) => name.trim()), ...limitHeaderNames]
      ctx.set('access-control-expose-headers', names.filter((name) => name !== '').join(', '))
      // Some libraries send requests with credentials, whose responses browsers otherwise hide. svc reads no cookie here.
      if (registry.isOriginOfClient(origin)) ctx.set('access-control-allow-credentials', 'true')
    }
    if (ctx.status !== 200) return
    if (ctx.path === protocolRoutes.jwks) ctx.set('cache-control', `public, max-age=${keysMaxAge}`)
    // An empty response has no content type. Strict clients reject one.
    if (ctx.path === protocolRoutes.revocation && ctx.body === '') ctx.remove('content-type')
    const { body }: { body?: unknown } = ctx
    if (typeof body !== 'object' || !body) return
    if (ctx.path.startsWith('/.well-known/') && 'scopes_supported' in body) {
      const protected_resources = Object.values(config.apis).map(({ audience }) => audience)
      const scopes_supported = [...new Set([...servedScopes, ...registeredScopes(config)])]
      ctx.body = { ...body, scopes_supported, ...(protected_resources.length > 0 ? { protected_resources } : {}) }
    }
  })
}
