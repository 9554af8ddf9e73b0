import { requireUser } from '../../../auth/access/caller.ts'
import { mayImpersonate } from '../../../auth/access/impersonation.ts'
import type { SessionRow } from '../../../auth/access/lookups/lookups.ts'
import type { Visit } from '../../../auth/access/visit.ts'
import { endSession } from '../../../auth/sign-in/end-sessions.ts'
import { insertSession } from '../../../auth/sign-in/sign-in.ts'
import { type EventContext, recordEvent } from '../../../identity/events.ts'
import { notify } from '../../../identity/notices.ts'
import { findUserById } from '../../../identity/users.ts'
import { randomId } from '../../../platform/crypto/random.ts'
import { forbidden, unauthenticated } from '../../../platform/errors.ts'

/**
 * Replaces the session of an administrator by one in which the administrator acts as a user, and mails the user. Returns the id
 * and the row of the new session. Throws 401 if the session ended meanwhile, and 403 if the administrator may not act as this
 * user.
 */
export async function beginImpersonation(
  visit: Visit,
  origin: EventContext,
  userId: number,
): Promise<{ sessionId: string; row: SessionRow }> {
  const { app } = visit
  const { id: by } = requireUser(visit)
  const sessionId = randomId()
  const row = await app.database.transaction(async (tx) => {
    const others = await app.sessionListener.usersOf(tx, visit)
    const ended = await endSession(tx, visit, [userId, by, ...others])
    if (!ended.isOwn) throw unauthenticated()
    const config = app.config.current()
    const [administrator, found] = [await findUserById({ prisma: tx }, by), await findUserById({ prisma: tx }, userId)]
    if (!administrator || !found || !mayImpersonate(administrator.user, found.user, config)) throw forbidden()
    const { user, password } = found
    const until = origin.now + config.admin.impersonation.max
    const bindingId = visit.session.state?.row?.bindingId ?? null
    const common = { rememberTokenId: null, bindingId, proof: { at: origin.now, methods: [] } }
    // No browser gets the cookie of this session. If it ends with the administrator's other sessions, the impersonation ends too.
    const own = await insertSession(tx, visit, { ...common, sessionId: randomId(), ...administrator })
    const impersonation = { by, until, session: own.publicId }
    const inserted = await insertSession(tx, visit, { ...common, sessionId, user, password, impersonation })
    await app.sessionListener.ended(tx, ended)
    await recordEvent(tx, origin, { type: 'impersonation_started', userId })
    await notify(app, tx, origin, user, 'impersonation_started')
    return inserted
  })
  return { sessionId, row }
}
