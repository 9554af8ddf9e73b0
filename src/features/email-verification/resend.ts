import type { FastifyRequest } from 'fastify'
import { eventContext } from '../../identity/events.ts'
import type { User } from '../../identity/user.ts'
import { sendVerification } from '../../identity/verification.ts'

/** The address that is not verified yet, or null. */
export const unverifiedAddress = ({ email, email_verified_at, pending_email }: User): string | null =>
  pending_email ?? (email_verified_at === null ? email : null)

/** Mails the verification link again. Returns false if the user has no unverified address. */
export async function resendVerification(request: FastifyRequest, user: User): Promise<boolean> {
  const app = request.server
  if (unverifiedAddress(user) === null) return false
  await app.database.transaction((tx) => sendVerification(app, tx, eventContext(request), user))
  return true
}
