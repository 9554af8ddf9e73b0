import type Provider from 'oidc-provider'
import type { Config } from '../../../../config/schema.ts'
import { limitHeaderNames } from '../../../../limits/too-many-requests.ts'
import { protocolRoutes } from '../paths.ts'
import { registeredScopes, servedScopes } from '../scopes.ts'
import { patchAnswer } from './patch.ts'

/** Adds what the library omits from the published documents and from the response to a revocation. */
export function completeAnswers(provider: Provider, config: Config, keysMaxAge: number): void {
  patchAnswer(provider, 'documents', 'completes metadata and cache headers', async (ctx, next) => {
    await next()
    const exposed = ctx.response.get('access-control-expose-headers')
    if (ctx.response.get('access-control-allow-origin')) {
      const names = exposed === '' ? limitHeaderNames : [exposed, ...limitHeaderNames]
      ctx.set('access-control-expose-headers', names.join(', '))
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
