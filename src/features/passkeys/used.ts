import type { Services, Visit } from '../../auth/access/visit.ts'

/**
 * Cookie of browsers where a user signed in or confirmed by passkey. It has the same value in every browser, so it
 * identifies neither user nor browser.
 */
const usedCookie = 'svc_passkey_used'

/** How long the sign-in page offers the passkey first after its last use, in seconds. */
const usedMaxAge = 90 * 86_400

/** Tests whether a passkey was used in this browser. */
export const usedPasskey = (visit: Visit): boolean => visit.cookie(usedCookie) === '1'

/** Notes that a passkey was used: arguments of `app.cookies.set`. */
export const usedMark = [usedCookie, '1', { maxAge: usedMaxAge }] as const

/** Where a front end continues after a passkey. */
export const frontEndHome = ({ config }: Pick<Services, 'config'>): string =>
  new URL('/', config.current().app.frontend_url).href
