import type { Visit } from '../../auth/access/visit.ts'
import type { User } from '../../identity/user.ts'
import { sendVerification } from '../../identity/verification.ts'

/** The address that is not verified yet, or null. */
export const unverifiedAddress = ({ email, email_verified_at, pending_email }: User): string | null =>
  pending_email ?? (email_verified_at === null ? email : null)

/** Mails the verification link again. Returns false if the user has no unverified address. */
export async function resendVerification(visit: Visit, user: User): Promise<boolean> {
  const app = visit.app
  if (unverifiedAddress(user) === null) return false
  await app.database.transaction((tx) => sendVerification(app, tx, visit.origin, user))
  return true
}
