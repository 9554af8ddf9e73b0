import type { FastifyRequest } from 'fastify'
import { sectionPath, sectionsOf } from '../../pages/account/account-pages.ts'
import { withReturn } from '../../pages/continuation.ts'
import { ownLink, signInPage, termsPage } from '../../pages/links.ts'
import type { Config } from '../../platform/config/schema.ts'
import type { HttpError } from '../../platform/errors.ts'
import { isNavigation } from '../../platform/http/navigation.ts'
import type { OriginalRequest } from './original-request.ts'
import { isTopLevel, receivesCookie } from './session-use.ts'

/**
 * Returns the page where the user of a browser navigation can fix a refusal, or null. Only for hosts that receive the
 * session cookie, because others would redirect again and again.
 */
export function signInLocation(
  original: OriginalRequest,
  request: FastifyRequest,
  { code, headers }: HttpError,
  config: Config,
): string | null {
  const isBearer = request.headers.authorization !== undefined || headers['www-authenticate']?.includes('error=')
  if (isBearer || !isNavigation(request) || !isTopLevel(original, request.headers)) return null
  if (!config.stateful_api || !receivesCookie(original, config)) return null
  const page = signInPage(config, original.url)
  if (code === 'unauthenticated') return page
  if (code === 'terms_not_accepted') return ownLink(config, withReturn(termsPage, original.url))
  const hasSecondFactor = request.session?.state?.row?.user?.two_factor_enabled ?? false
  if (code === 'second_factor_required' && !hasSecondFactor) return setupPage(request, config, original.url)
  // A new sign-in asks for the second factor, and counts as a confirmation.
  const isFixed = code === 'password_confirmation_required' || code === 'second_factor_required'
  return isFixed ? `${page}&prompt=login` : null
}

/** The account page that sets up a second factor and then returns; null without that page. */
function setupPage({ server }: FastifyRequest, config: Config, returnTo: string): string | null {
  const isShown = config.links.account === null && sectionsOf(server.features, config).includes('two-factor')
  return isShown ? ownLink(config, withReturn(sectionPath('two-factor'), returnTo)) : null
}
