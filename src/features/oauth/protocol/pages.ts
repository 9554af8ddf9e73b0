import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider'
import { showApplication } from '../../../pages/continuation.ts'
import { startPage } from '../../../pages/links.ts'
import type { PageData, PageName } from '../../../pages/page-data.ts'
import { policyOf } from '../../../pages/page-headers.ts'
import { renderPage } from '../../../pages/pages.ts'
import { textsOf } from '../../../pages/texts.ts'
import type { Registry } from '../clients/clients.ts'
import { requestFactsOf } from './browser.ts'
import { isSeen } from './patches/failures.ts'

/** Sets a page of svc as the library's response. */
function respondWithPage<Name extends PageName>(
  ctx: KoaContextWithOIDC,
  name: Name,
  data: PageData[Name],
  status = 200,
): void {
  const { reply } = requestFactsOf(ctx.req)
  ctx.status = status
  ctx.type = 'html'
  ctx.set(policyOf(reply))
  ctx.body = renderPage(reply, name, data)
}

/** Sets an error in JSON as the library's response. */
function respondWithError(ctx: KoaContextWithOIDC, out: ErrorOut, status: number): void {
  ctx.status = status
  ctx.type = 'json'
  ctx.body = out
}

const devicePath = '/oauth/device'

/** Secret that the library's forms send back. */
const secretOf = (ctx: KoaContextWithOIDC): string => {
  const { state } = ctx.oidc.session ?? {}
  return typeof state?.secret === 'string' ? state.secret : ''
}

/**
 * Pages of the device flow (RFC 8628 section 3.3). They show the client and its address before the user allows
 * anything.
 */
export const devicePages = (registry: Registry) => ({
  deviceInfo: (ctx: KoaContextWithOIDC) => ({ ip: ctx.ip, ua: ctx.get('user-agent').slice(0, 512) }),
  userCodeInputSource: (
    ctx: KoaContextWithOIDC,
    _form: string,
    out?: ErrorOut,
    error?: Error & { userCode?: string },
  ) => {
    const isBad = out !== undefined && error?.name !== 'NoCodeError'
    const status = error?.name === 'TooManyCodes' ? 429 : isBad ? 400 : 200
    if (isBad && !isSeen(requestFactsOf(ctx.req).request)) return respondWithError(ctx, out, status)
    respondWithPage(
      ctx,
      'device',
      {
        action: devicePath,
        secret: secretOf(ctx),
        userCode: error?.userCode ?? (isBad ? '' : codeInLink(ctx)),
        error: isBad ? deviceErrorOf(error) : null,
      },
      status,
    )
  },
  userCodeConfirmSource: (
    ctx: KoaContextWithOIDC,
    _form: string,
    client: { clientName?: string | undefined; clientId: string },
    deviceInfo: { ip?: string; ua?: string },
    userCode: string,
  ) => {
    showApplication(requestFactsOf(ctx.req).reply, registry.application(client.clientId))
    respondWithPage(ctx, 'device-confirm', {
      action: devicePath,
      secret: secretOf(ctx),
      userCode,
      client: client.clientName ?? client.clientId,
      ipAddress: deviceInfo.ip ?? null,
      userAgent: deviceInfo.ua ?? null,
    })
  },
  successSource: (ctx: KoaContextWithOIDC) => {
    respondWithPage(ctx, 'device-done', { client: ctx.oidc.client?.clientName ?? ctx.oidc.client?.clientId ?? '' })
  },
})

/** User code from the URL that a device shows (RFC 8628 section 3.3.1). */
function codeInLink(ctx: KoaContextWithOIDC): string {
  const { query } = requestFactsOf(ctx.req).request
  const code = typeof query === 'object' && query && 'user_code' in query ? query.user_code : ''
  return typeof code === 'string' ? code.slice(0, 32) : ''
}

const deviceErrorOf = (error: Error | undefined): 'aborted' | 'expired' | 'limited' | 'unknown' => {
  if (error?.name === 'TooManyCodes') return 'limited'
  if (error?.name === 'AbortedError') return 'aborted'
  return error?.name === 'ExpiredError' ? 'expired' : 'unknown'
}

/** Pages of sign-out (OpenID Connect RP-Initiated Logout section 2). */
export const logoutPages = (registry: Registry) => ({
  logoutSource: (ctx: KoaContextWithOIDC) => {
    const { signedIn } = requestFactsOf(ctx.req)
    const { client } = ctx.oidc
    respondWithPage(ctx, 'logout', {
      action: '/oauth/logout/confirm',
      secret: secretOf(ctx),
      client: client ? registry.application(client.clientId).name : null,
      user: signedIn?.user.email ?? null,
    })
  },
  postLogoutSuccessSource: (ctx: KoaContextWithOIDC) => {
    respondWithPage(ctx, 'logged-out', { href: startPage(requestFactsOf(ctx.req).request.server.config.current()) })
  },
})

/** Replaces descriptions that do not say what is wrong. */
const clearer: Readonly<Record<string, string>> = {
  'client is invalid': 'no client with this client_id is registered',
}

/** Error page for the user. svc never redirects to an unknown client or an invalid redirect URI. */
export const renderError = (registry: Registry) => (ctx: KoaContextWithOIDC, out: ErrorOut) => {
  const { request } = requestFactsOf(ctx.req)
  // The library gives errors that redirect the status 303.
  const status = Math.max(ctx.status, 400)
  if (!isSeen(request)) {
    respondWithError(ctx, out, status)
    return
  }
  const text = textsOf(request)
  const description = out.error_description && (clearer[out.error_description] ?? out.error_description)
  const back = registry.isDocument(ctx.oidc.client?.clientId) ? answerOf(ctx, out) : null
  const data = {
    heading: text('oauth-error.heading'),
    texts: [text('oauth-error.text')],
    details: [out.error, description].filter(Boolean).join(': '),
    ...(back && { link: { href: back.href, label: text('oauth-error.back', { client: back.host }) } }),
    requestId: request.id,
    homeHref: startPage(request.server.config.current()),
  }
  respondWithPage(ctx, 'error', data, status)
}

/** The redirect URI with an error (RFC 6749 section 4.1.2.1), or null if the request has no valid redirect URI. */
function answerOf({ oidc: { client, params } }: KoaContextWithOIDC, out: ErrorOut): URL | null {
  const uri = params?.redirect_uri
  if (typeof uri !== 'string' || !client?.redirectUriAllowed(uri)) return null
  const url = new URL(uri)
  for (const [name, value] of Object.entries(out)) if (typeof value === 'string') url.searchParams.set(name, value)
  return url
}
