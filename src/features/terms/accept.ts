import { acceptTerms } from '../../auth/access/accepted-terms.ts'
import type { Visit } from '../../auth/access/visit.ts'
import { requireStillSignedIn } from '../../auth/sign-in/still-signed-in.ts'

/** Records that the signed-in user accepts a version; does nothing without one. Throws 401 if the session ended meanwhile. */
export async function accept(visit: Visit, userId: number, version: string | null): Promise<void> {
  if (version !== null) await acceptTerms(visit, { userId, version }, (tx) => requireStillSignedIn(tx, visit))
}
