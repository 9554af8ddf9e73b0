import type Provider from 'oidc-provider'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { policyOf, withAppScheme, withoutFormTargets } from '../../../../pages/page-headers.ts'
import { pageAfterForm } from '../../../../pages/pages.ts'
import { requestFactsOf } from '../browser.ts'
import { patchAnswer } from './patch.ts'

const policyHeader = 'content-security-policy'

/** The policy of a page of the library, adapted to the target of its form. */
function policyFor({ oidc, response }: KoaContextWithOIDC): string {
  const policy = response.get(policyHeader)
  const { redirect_uri, post_logout_redirect_uri: logoutUri } = oidc.params ?? {}
  if (oidc.route !== 'end_session')
    // The page of `form_post` has one form, for a registered address, whose redirects svc does not know.
    return typeof redirect_uri === 'string' && oidc.client?.redirectUriAllowed(redirect_uri)
      ? withoutFormTargets(policy)
      : policy
  const isAllowed = typeof logoutUri === 'string' && oidc.client?.postLogoutRedirectUriAllowed(logoutUri)
  return isAllowed ? withAppScheme(policy, logoutUri) : policy
}

/** The library has no context for paths that it does not know. */
const isOfLibrary = (ctx: object): ctx is KoaContextWithOIDC => 'oidc' in ctx

/** Tests for a response to a form of svc's own pages. Entering a device code leads to no other site but `links.login`. */
function isAfterOwnForm({ method, oidc, status, req }: KoaContextWithOIDC): boolean {
  if (method !== 'POST' || (status !== 302 && status !== 303)) return false
  const { links } = requestFactsOf(req).request.server.config.current()
  return oidc.route === 'end_session_confirm' || (oidc.route === 'code_verification' && links.login !== null)
}

/** Makes redirects after forms reach other sites, although browsers apply `form-action` to redirects. */
export function adaptForms(provider: Provider): void {
  patchAnswer(provider, 'forms', 'continues by a page after forms that may lead to another site', async (ctx, next) => {
    await next()
    if (!isOfLibrary(ctx)) return
    if (ctx.response.type === 'text/html') ctx.set(policyHeader, policyFor(ctx))
    if (!isAfterOwnForm(ctx)) return
    const { reply } = requestFactsOf(ctx.req)
    const page = pageAfterForm(reply, ctx.response.get('location'))
    if (page === null) return
    ctx.remove('location')
    ctx.status = 200
    ctx.type = 'html'
    ctx.set({ ...policyOf(reply), refresh: page.refresh })
    ctx.body = page.html
  })
}
