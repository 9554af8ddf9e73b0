import type { FastifyRequest } from 'fastify'
import { callerOf } from '../access/access.ts'
import { unauthenticated } from '../errors.ts'
import type { Tx } from '../plugins/database/database.ts'

/**
 * Throws 401 for who lost the session since the request began: by a reset of the password above all, which takes the
 * account away. Whoever still has it keeps it until the transaction ends. The session was read before the body came,
 * and a client may send that as slowly as it likes.
 */
export async function requireStillSignedIn(tx: Tx, request: FastifyRequest): Promise<void> {
  const { credentialId: publicId, user } = callerOf(request)
  if (!user) throw unauthenticated()
  const userId = BigInt(user.id)
  const { count } = await tx.session.updateMany({ where: { publicId, userId }, data: { userId } })
  if (count === 0) throw unauthenticated()
}
