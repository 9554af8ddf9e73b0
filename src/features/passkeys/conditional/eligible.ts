import type { Visit } from '../../../auth/access/visit.ts'
import { forbidden, passwordConfirmationRequired } from '../../../platform/errors.ts'
import { isOfferedPasskey } from '../offer.ts'
import { hasPasskey } from '../store.ts'

declare module 'fastify' {
  interface Session {
    /** Whether the session requested the options of a conditional registration. */
    passkeyAsked?: true
  }
}

/** How long after a sign-in by password the browser may create a passkey without a gesture: five minutes. */
const maxAge = 300_000

/** Tests whether the user signed in by password less than five minutes ago. */
function isFreshPassword({ app, session }: Visit): boolean {
  const { proof } = session
  return proof?.methods.includes('pwd') === true && app.clock.now() - proof.at < maxAge
}

/** Throws 423 unless the user signed in by password less than five minutes ago. */
export function requireFreshPassword(visit: Visit): void {
  if (!isFreshPassword(visit)) throw passwordConfirmationRequired()
}

/** Allows one request for options per session, and only without a passkey: 423 or 403 otherwise. */
export async function startOnce(visit: Visit, userId: number): Promise<void> {
  requireFreshPassword(visit)
  if (visit.session.passkeyAsked || (await hasPasskey(visit.app.database, userId))) throw forbidden()
  visit.session.passkeyAsked = true
  await visit.session.save()
}

/** Tests whether the start page asks the browser to create a passkey. */
export async function isConditional(visit: Visit): Promise<boolean> {
  if (visit.session.passkeyAsked || !isFreshPassword(visit)) return false
  return isOfferedPasskey(visit)
}
