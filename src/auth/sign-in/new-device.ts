import { browserName } from '../../identity/browser-name.ts'
import { notify } from '../../identity/notices.ts'
import type { User } from '../../identity/user.ts'
import type { Tx } from '../../platform/database/database.ts'
import { networkOf } from '../../platform/http/client-address.ts'
import type { Visit } from '../access/visit.ts'

/**
 * Tests whether svc notifies the user of a sign-in with this browser: the account is not new, its address is verified, and
 * the browser did not sign in to it during the last 90 days.
 */
export const isNewBrowser = (
  visit: Visit,
  { user, isNewAccount = false }: { user: User; isNewAccount?: boolean },
): boolean => !isNewAccount && user.email_verified_at !== null && !visit.app.loginLimiter.signedInBefore(visit, user)

/** How long an application counts as known after a notice, in milliseconds. */
const applicationLife = 90 * 86_400_000

/**
 * Notifies the user of a sign-in that issued tokens to an application. Applications have no cookies, so a known one is
 * identified by its client, user agent family and network.
 */
export async function noticeApplication(
  tx: Tx,
  visit: Visit,
  user: User,
  { id, name }: { id: string; name: string },
): Promise<void> {
  const { app } = visit
  if (user.email_verified_at === null) return
  const origin = visit.origin
  const device = [user.id, id, browserName(origin.userAgent ?? '') ?? '', networkOf(origin.ipAddress ?? '')].join('\0')
  const rule = { max: 1, window: applicationLife, block: 'window' } as const
  const hit = await app.counters.within(tx).hit(`application:${device}`, rule, origin.now)
  if (!hit.allowed) return
  await notify(app, tx, origin, user, 'new_sign_in', { application: name })
}
