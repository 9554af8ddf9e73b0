import { lockAndCheckAccount } from '../../identity/lock.ts'
import type { Tx } from '../../platform/database/database.ts'
import { unauthenticated } from '../../platform/errors.ts'
import { callerOf } from '../access/caller.ts'
import type { Visit } from '../access/visit.ts'

/**
 * Locks the signed-in user; throws 401 when the session or API token ended since the request began, for example by a
 * password reset, when the session was renewed by a password change, or when the account was disabled.
 * The credential was read before the body arrived, and a client may send that as slowly as it likes.
 */
export async function requireStillSignedIn(tx: Tx, visit: Visit): Promise<void> {
  const caller = callerOf(visit)
  const credential =
    caller.kind === 'api_token'
      ? { token: BigInt(caller.credentialId) }
      : { session: caller.kind === 'session' ? caller.rowId : null }
  const { user } = caller
  if (!user || !(await lockAndCheckAccount(visit.app.database, tx, user.id, credential))) throw unauthenticated()
}
