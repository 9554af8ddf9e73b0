import type { FastifyRequest } from 'fastify'
import { eventContext } from '../../users/events.ts'
import type { User } from '../../users/user.ts'
import { sendVerification } from '../../users/verification.ts'

/** Mails the verification link again. Returns false if no address of the user waits for its verification. */
export async function resendVerification(request: FastifyRequest, user: User): Promise<boolean> {
  const app = request.server
  if (user.email_verified_at !== null && !user.pending_email) return false
  await app.database.transaction((tx) => sendVerification(app, tx, eventContext(request), user))
  return true
}
