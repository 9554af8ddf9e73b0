import { callerOf, requireUser } from '../../auth/access/caller.ts'
import type { Visit } from '../../auth/access/visit.ts'
import { endSessionsOf } from '../../auth/sign-in/end-sessions.ts'
import { requireStillSignedIn } from '../../auth/sign-in/still-signed-in.ts'
import { recordEvent } from '../../identity/events.ts'
import type { Tx } from '../../platform/database/database.ts'
import { notFound } from '../../platform/errors.ts'
import { endRemembered, endSession, listRemembered, listSessions, shownNow } from './store.ts'

/** The user's live sessions, the most recent first. */
export const ownSessions = (visit: Visit) =>
  listSessions(visit.app.database, requireUser(visit).id, {
    current: callerOf(visit).credentialId,
    ...shownNow(visit.app),
  })

/** The user's remembered devices without a live session. The next visit signs them in. */
export const ownDevices = (visit: Visit) =>
  listRemembered(visit.app.database, requireUser(visit).id, shownNow(visit.app))

async function end(visit: Visit, work: (tx: Tx, userId: number) => Promise<boolean>): Promise<void> {
  const { id } = requireUser(visit)
  const isEnded = await visit.app.database.transaction(async (tx) => {
    await requireStillSignedIn(tx, visit)
    if (!(await work(tx, id))) return false
    await recordEvent(tx, visit.origin, { type: 'session_ended', userId: id })
    return true
  })
  if (!isEnded) throw notFound()
}

/** Ends a session of the user. 404 for an unknown id. */
export const endOne = (visit: Visit, publicId: string): Promise<void> =>
  end(visit, (tx, userId) => endSession(visit.app.sessionListener, tx, userId, publicId))

/** Forgets a remembered device of the user, and ends its sessions. 404 for an unknown id. */
export const forgetDevice = (visit: Visit, id: bigint): Promise<void> =>
  end(visit, (tx, userId) => endRemembered(visit.app.sessionListener, tx, userId, id))

/** Ends the user's sessions and remembered devices, except those of this request. */
export async function endOthers(visit: Visit): Promise<void> {
  const { app } = visit
  const { id } = requireUser(visit)
  await app.database.transaction(async (tx) => {
    await requireStillSignedIn(tx, visit)
    const count = await endSessionsOf(app, tx, id, visit)
    await recordEvent(tx, visit.origin, { type: 'sessions_ended', userId: id, data: { count } })
  })
}
