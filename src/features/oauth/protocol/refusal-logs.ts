import type Provider from 'oidc-provider'
import type { errors, KoaContextWithOIDC } from 'oidc-provider'
import { type Advice, logAdvice } from '../../../platform/http/advice.ts'
import { requestFactsOf } from './browser.ts'
import { RefusedDocumentClient } from './document-client.ts'
import { causeOf } from './refusal-causes.ts'

/** Error of the library: what the client receives, and a detail for the log. */
type Refusal = Pick<errors.OIDCProviderError, 'error' | 'error_description' | 'error_detail' | 'name'> & {
  scope?: string
}

/** Events that the library emits for rejected requests. */
const refusals = [
  'authorization.error',
  'device_authorization.error',
  'end_session.error',
  'grant.error',
  'introspection.error',
  'pushed_authorization_request.error',
  'revocation.error',
  'userinfo.error',
]

/** Logs why svc rejected a request, and the configuration key to change if one would help. */
export function logRefusals(provider: Provider): void {
  for (const name of refusals) {
    provider.on(name as 'grant.error', (ctx, error) => {
      const { request } = requestFactsOf(ctx.req)
      const asked = ctx.oidc.params?.client_id
      const known = ctx.oidc.client?.clientId
      const client = known ?? (typeof asked === 'string' ? asked.slice(0, 255) : null)
      const redirectUri = ctx.oidc.params?.redirect_uri ?? ctx.oidc.params?.post_logout_redirect_uri
      const offered = redirectUri === undefined ? {} : { redirect_uri: addressOf(redirectUri) }
      const event = `OAuth request refused (${error.error}, client ${client ?? 'unknown'})`
      logAdvice(request.log, event, adviceFor(ctx, error, client), { client, error: error.error, ...offered })
    })
  }
}

function adviceFor(ctx: KoaContextWithOIDC, refusal: Refusal, client: string | null): Advice {
  const { name, error, error_description, error_detail, scope } = refusal
  const of = (key: string) => (client === null ? 'clients' : `clients[client_id=${client}].${key}`)
  const told = error_description ?? error
  const { params = {} } = ctx.oidc
  if (refusal instanceof RefusedDocumentClient) return { key: refusal.key, message: error_detail ?? told }
  if (error === 'invalid_grant' && params.grant_type === 'refresh_token')
    return { key: null, message: `the refresh token was refused: ${causeOf(ctx, error_detail)}` }
  if (error_detail === 'client not found')
    return { key: 'clients', message: 'no client of this client_id is registered' }
  if (name === 'InvalidRedirectUri') {
    return { key: of('redirect_uris'), message: `redirect_uri ${addressOf(params.redirect_uri)} is not registered` }
  }
  if (/^post_logout_redirect_uri not registered/.test(told)) {
    const message = `post_logout_redirect_uri ${addressOf(params.post_logout_redirect_uri)} is not registered`
    return { key: of('post_logout_redirect_uris'), message }
  }
  if (error === 'invalid_scope') {
    return { key: of('scopes'), message: `the client may not ask for the scope ${scope ?? params.scope}` }
  }
  if (error === 'unauthorized_client') {
    return { key: of('grants'), message: `the client may not use the grant ${params.grant_type ?? 'device_code'}` }
  }
  if (error === 'invalid_client') {
    const message = `client authentication failed: ${error_detail ?? told}`
    return { key: of('{secret,secret_hash,jwks,jwks_uri,token_endpoint_auth_method}'), message }
  }
  if (/^unsupported prompt value/.test(told))
    return {
      key: null,
      message: `prompt ${JSON.stringify(String(params.prompt).slice(0, 100))} has a value that svc does not know`,
    }
  if (error === 'invalid_target') return { key: of('scopes'), message: told }
  if (/^origin .* not allowed for client/.test(told)) return { key: of('cors_origins'), message: told }
  if (/PKCE/.test(told)) {
    return { key: of('type'), message: `${told} (public clients must send a code_challenge with S256)` }
  }
  return { key: null, message: told }
}

/** URL without its query, which may contain personal data. */
function addressOf(uri: unknown): string {
  const url = typeof uri === 'string' ? URL.parse(uri) : null
  return url ? `${url.protocol}//${url.host}${url.pathname}`.slice(0, 255) : '(missing or unreadable)'
}
