import type Provider from 'oidc-provider'
import type { Cookies } from '../../../../auth/access/cookies.ts'
import type { Counters } from '../../../../platform/limits/counters.ts'
import type { ClientLimits } from '../../clients/client-limits.ts'
import type { SecretUses } from '../../clients/secret-uses.ts'
import type { CookieRecords } from '../cookie-records.ts'
import type { Introspection } from '../introspection/answers.ts'
import type { ClaimParts } from '../user-claims.ts'
import { adaptForms } from './after-forms.ts'
import { tellAuthentication } from './authentication-context.ts'
import { adaptClientAuthentication } from './client-authentication.ts'
import { renewClientKeys } from './client-keys.ts'
import { adaptCookies } from './cookie-jar.ts'
import { completeDeviceFlow, type DeviceParts } from './device-flow.ts'
import { completeAnswers } from './documents.ts'
import { answerFailures } from './failures.ts'
import { rejectUnlistedGrants } from './grant-types.ts'
import { checkResourcesFirst } from './granted-resources.ts'
import { addClaimsToIdTokens } from './id-token-claims.ts'
import { answerIntrospection } from './introspection.ts'
import { adaptLogout, type SendLogout } from './logout.ts'
import { requirePushedRequests } from './pushed-requests.ts'
import { settleScope } from './request-scope.ts'
import { followBrowserSessions, type SessionParts } from './sessions.ts'
import { decideBeforeUse } from './token-decision.ts'
import { adaptTokenModels, type TokenParts } from './token-models.ts'

/** Dependencies of the patches. */
export interface PatchParts extends SessionParts, DeviceParts, Omit<ClaimParts, 'config'>, Omit<TokenParts, 'config'> {
  limits: ClientLimits
  secretUses: SecretUses
  counters: Counters
  cookies: Cookies
  cookieRecords: CookieRecords
  introspectionOf(provider: Provider): Introspection
  /** How long clients may cache the published keys, in seconds. */
  keysMaxAge: number
}

/**
 * Makes every change to oidc-provider that its configuration, its events and `registerGrantType` cannot make. Later
 * patches wrap earlier ones. A test compares the list, so that a new patch is a deliberate decision.
 */
export function applyPatches(provider: Provider, parts: PatchParts): SendLogout {
  const { config, registry, limits, secretUses } = parts
  adaptCookies(provider, parts.cookies, parts.cookieRecords)
  followBrowserSessions(provider, parts)
  tellAuthentication(provider)
  // First, because the changes below look at the library's redirects.
  adaptForms(provider)
  const sendLogout = adaptLogout(provider, parts)
  adaptTokenModels(provider, parts)
  checkResourcesFirst(provider, registry)
  decideBeforeUse(provider, parts)
  addClaimsToIdTokens(provider, parts)
  settleScope(provider, config, registry)
  requirePushedRequests(provider)
  completeDeviceFlow(provider, parts)
  completeAnswers(provider, config, registry, parts.keysMaxAge)
  rejectUnlistedGrants(provider)
  answerFailures(provider)
  answerIntrospection(provider, registry, parts.introspectionOf(provider))
  adaptClientAuthentication(provider, { registry, limits, secretUses })
  renewClientKeys(provider, parts.clock)
  return sendLogout
}
