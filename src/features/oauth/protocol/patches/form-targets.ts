import type Provider from 'oidc-provider'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { withFormTarget } from '../../../../pages/page-headers.ts'
import { patchAnswer } from './patch.ts'

const policyHeader = 'content-security-policy'

/** Target of the library's form: a registered URI of the client. */
function targetOf(oidc: KoaContextWithOIDC['oidc']): string | null {
  const { client, params } = oidc
  const { redirect_uri, post_logout_redirect_uri } = params ?? {}
  if (!client) return null
  if (oidc.route === 'end_session') {
    const uri = post_logout_redirect_uri
    return typeof uri === 'string' && client.postLogoutRedirectUriAllowed(uri) ? uri : null
  }
  return typeof redirect_uri === 'string' && client.redirectUriAllowed(redirect_uri) ? redirect_uri : null
}

/**
 * Allows redirects to the client's URI after forms of the library's pages. Browsers also apply `form-action` to
 * redirects.
 */
export function allowFormTargets(provider: Provider): void {
  patchAnswer(provider, 'form-targets', "allows the client's redirect URI as a form target", async (ctx, next) => {
    await next()
    if (ctx.response.type !== 'text/html') return
    const uri = targetOf(ctx.oidc)
    const policy = ctx.response.get(policyHeader)
    if (uri !== null && policy !== '') ctx.set(policyHeader, withFormTarget(policy, uri))
  })
}
