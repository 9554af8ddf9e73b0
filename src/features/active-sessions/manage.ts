import type { FastifyRequest } from 'fastify'
import { callerOf, requireUser } from '../../auth/access/caller.ts'
import { endSessionsOf } from '../../auth/sign-in/end-sessions.ts'
import { requireStillSignedIn } from '../../auth/sign-in/still-signed-in.ts'
import { eventContext, recordEvent } from '../../identity/events.ts'
import type { Tx } from '../../platform/database/database.ts'
import { notFound } from '../../platform/errors.ts'
import { endRemembered, endSession, listRemembered, listSessions } from './store.ts'

/** The user's live sessions, the most recent first. */
export async function ownSessions(request: FastifyRequest) {
  const { config, clock, database } = request.server
  const { lifetime, absolute_lifetime } = config.current().session
  const now = clock.now()
  return listSessions(database, requireUser(request).id, {
    current: callerOf(request).credentialId,
    seenAfter: new Date(now - lifetime),
    createdAfter: new Date(now - absolute_lifetime),
  })
}

/** The user's remembered devices without a live session. The next visit signs them in. */
export async function ownDevices(request: FastifyRequest) {
  const { config, clock, database } = request.server
  const { lifetime, absolute_lifetime } = config.current().session
  const now = clock.now()
  return listRemembered(database, requireUser(request).id, {
    now: new Date(now),
    seenAfter: new Date(now - lifetime),
    createdAfter: new Date(now - absolute_lifetime),
  })
}

async function end(request: FastifyRequest, work: (tx: Tx, userId: number) => Promise<boolean>): Promise<void> {
  const { id } = requireUser(request)
  const isEnded = await request.server.database.transaction(async (tx) => {
    await requireStillSignedIn(tx, request)
    if (!(await work(tx, id))) return false
    await recordEvent(tx, eventContext(request), { type: 'session_ended', userId: id })
    return true
  })
  if (!isEnded) throw notFound()
}

/** Ends a session of the user. 404 for an unknown id. */
export const endOne = (request: FastifyRequest, publicId: string): Promise<void> =>
  end(request, (tx, userId) => endSession(request.server.sessionListener, tx, userId, publicId))

/** Forgets a remembered device of the user, and ends its sessions. 404 for an unknown id. */
export const forgetDevice = (request: FastifyRequest, id: bigint): Promise<void> =>
  end(request, (tx, userId) => endRemembered(request.server.sessionListener, tx, userId, id))

/** Ends the user's sessions and remembered devices, except those of this request. */
export async function endOthers(request: FastifyRequest): Promise<void> {
  const { server: app } = request
  const { id } = requireUser(request)
  await app.database.transaction(async (tx) => {
    await requireStillSignedIn(tx, request)
    const count = await endSessionsOf(app, tx, id, request)
    await recordEvent(tx, eventContext(request), { type: 'sessions_ended', userId: id, data: { count } })
  })
}
