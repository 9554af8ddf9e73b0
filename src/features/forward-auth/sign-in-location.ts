import type { FastifyRequest } from 'fastify'
import { twoFactorPage } from '../../pages/account/account-pages.ts'
import { withReturn } from '../../pages/continuation.ts'
import { ownLink, signInPage, termsPage } from '../../pages/links.ts'
import type { Config } from '../../platform/config/schema.ts'
import { type HttpError, needsSignIn } from '../../platform/errors.ts'
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
  error: HttpError,
  config: Config,
): string | null {
  const { code, headers } = error
  const isBearer = request.headers.authorization !== undefined || headers['www-authenticate']?.includes('error=')
  if (isBearer || !isNavigation(request) || !isTopLevel(original, request.headers)) return null
  if (!config.stateful_api || !receivesCookie(original, config)) return null
  const page = signInPage(config, original.url)
  if (needsSignIn(error)) return page
  if (code === 'terms_not_accepted') return ownLink(config, withReturn(termsPage, original.url))
  const isEnrolled = request.session?.state?.row?.user?.two_factor_enabled ?? false
  if (code === 'second_factor_required') {
    return twoFactorPage(request.server.features, config, { returnTo: original.url, isEnrolled })
  }
  // A new sign-in counts as a confirmation.
  return code === 'password_confirmation_required' ? `${page}&prompt=login` : null
}
