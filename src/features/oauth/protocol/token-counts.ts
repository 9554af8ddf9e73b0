import type Provider from 'oidc-provider'
import type { KoaContextWithOIDC } from 'oidc-provider'
import type { Metrics } from '../../../platform/observability/metrics/metrics.ts'

const grants = new Set(['authorization_code', 'refresh_token', 'client_credentials', 'password'])

/** Grant type as a metric label. All unknown values share one label. */
function grantOf(ctx: KoaContextWithOIDC): string {
  const asked = String(ctx.oidc.params?.grant_type ?? '')
  const name = asked.replace('urn:ietf:params:oauth:grant-type:', '').replace('-', '_')
  return grants.has(asked) || name === 'device_code' || name === 'token_exchange' ? name : 'unknown'
}

const kinds = ['access_token', 'refresh_token', 'id_token'] as const

/** Counts the tokens and errors of the token endpoint. */
export function countTokens(provider: Provider, metrics: Metrics): void {
  provider.on('grant.success', (ctx) => {
    const { body }: { body?: unknown } = ctx
    if (typeof body !== 'object' || body === null) return
    for (const kind of kinds) if (Reflect.get(body, kind)) metrics.token(kind, grantOf(ctx))
  })
  provider.on('grant.error', (ctx, error) => metrics.tokenRefused(grantOf(ctx), error.error))
}
