import type Provider from 'oidc-provider'
import type { Config } from '../../../config/schema.ts'
import { servedScopes } from './clients.ts'
import { protocolRoutes } from './paths.ts'

/** Completes the published documents: discovery names the API scopes too, and the key set says how long it may be kept. */
export function completeDocuments(provider: Provider, { scopes }: Config, keysMaxAge: number): void {
  provider.use(async (ctx, next) => {
    await next()
    if (ctx.status !== 200) return
    if (ctx.path === protocolRoutes.jwks) ctx.set('cache-control', `public, max-age=${keysMaxAge}`)
    const { body }: { body?: unknown } = ctx
    if (ctx.path.startsWith('/.well-known/') && typeof body === 'object' && body && 'scopes_supported' in body) {
      body.scopes_supported = [...new Set([...servedScopes, ...Object.keys(scopes)])]
    }
  })
}
