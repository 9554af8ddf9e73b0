import type { FastifyRequest } from 'fastify'
import { callerOf } from '../access/caller.ts'
import type { Tx } from '../database/database.ts'
import { unauthenticated } from '../errors.ts'
import { holdSession } from '../users/lock.ts'

/**
 * Locks the signed-in user; throws 401 when the session ended since the request began, for example by a password reset.
 * The session was read before the body arrived, and a client may send that as slowly as it likes.
 */
export async function requireStillSignedIn(tx: Tx, request: FastifyRequest): Promise<void> {
  const { credentialId: publicId, user } = callerOf(request)
  if (!user || !(await holdSession(request.server.database, tx, user.id, publicId))) throw unauthenticated()
}
