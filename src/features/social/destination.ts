import { invitationPageOf } from '../../identity/invitations.ts'
import { lastTarget, withReturn } from '../../pages/continuation.ts'
import { accountPage, confirmPage, isOwnFrontEnd, linkPage, linkTo, signInPage, startPage } from '../../pages/links.ts'
import type { Config } from '../../platform/config/schema.ts'
import type { ErrorCode } from '../../platform/errors.ts'
import type { Flow } from './state.ts'

type Place = Pick<Flow, 'intent' | 'mode' | 'returnTo' | 'invitation'>

/** Returns the destination after a completed flow: in the front end, or in svc if svc's own page started the flow. */
export function arrival(config: Config, { intent, mode, returnTo }: Place): string {
  if (mode === 'page' && intent === 'link' && returnTo !== null) return `${returnTo}?done=linked`
  if (mode === 'page') return returnTo ?? startPage(config)
  return new URL(returnTo ?? '/', config.app.frontend_url).href
}

/** Page that asks for the second factor. */
export const challengePage = (config: Config, { mode, returnTo }: Place): string =>
  mode === 'page'
    ? ownSignIn(returnTo)
    : linkTo(config, 'two_factor', {}, returnTo === null ? {} : { return_to: returnTo })

/** Returns the page that shows a failed flow: the page that started it, a sign-in page, or the front end. */
export function failurePage(config: Config, place: Place | null, code: ErrorCode): string {
  const returnTo = place?.returnTo ?? null
  if (place?.invitation !== undefined) return `${invitationPageOf(place.invitation)}?error=${code}`
  if (place?.mode === 'page' && place.intent === 'link' && returnTo !== null) return `${returnTo}?error=${code}`
  if (place?.mode === 'page' && place.intent === 'confirm')
    return withReturn(confirmPage, returnTo ?? accountPage, { error: code })
  if (place?.mode === 'page') return ownSignIn(returnTo, code)
  const isSignIn = place === null || place.intent === 'sign_in'
  if (isSignIn && config.links.login !== null) return withError(new URL(signInPage(config, returnTo ?? '/')), code)
  if (isSignIn && isOwnFrontEnd(config)) return ownSignIn(returnTo, code)
  const path = isSignIn ? '/' : (returnTo ?? '/')
  return withError(new URL(path, config.app.frontend_url), code)
}

function withError(url: URL, code: ErrorCode): string {
  url.searchParams.set('error', code)
  return url.href
}

/** Destination of a sign-in that first offers to link the account at the provider. */
export const withLink = (config: Config, returnTo: string | null): string =>
  withReturn(linkPage, lastTarget(config, returnTo))

/** Returns the URL of svc's own sign-in page. */
export function ownSignIn(returnTo: string | null, code?: ErrorCode): string {
  const query = new URLSearchParams({
    ...(returnTo === null ? {} : { return_to: returnTo }),
    ...(code === undefined ? {} : { error: code }),
  }).toString()
  return query === '' ? '/oauth/login' : `/oauth/login?${query}`
}
