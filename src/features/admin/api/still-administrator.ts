import { hasAdminRole } from '../../../auth/access/administrators.ts'
import { callerOf } from '../../../auth/access/caller.ts'
import type { Visit } from '../../../auth/access/visit.ts'
import { requireStillSignedIn } from '../../../auth/sign-in/still-signed-in.ts'
import { lockUsers } from '../../../identity/lock.ts'
import { findUserById } from '../../../identity/users.ts'
import type { Database, Tx } from '../../../platform/database/database.ts'
import { forbidden } from '../../../platform/errors.ts'
import type { Admin } from '../admin.ts'

/**
 * Locks the administrator and the accounts of a change. Throws 401 if the session or token has ended, and 403 if the
 * administrator lost the role. Both can happen after the request began, because the body may arrive slowly, and the
 * transaction may wait for a lock.
 */
async function lockAsAdministrator(visit: Visit, tx: Tx, userIds: readonly number[]): Promise<void> {
  const { database, config } = visit.app
  const { user } = callerOf(visit)
  await lockUsers(database, tx, user ? [user.id, ...userIds] : userIds)
  if (!user) return
  await requireStillSignedIn(tx, visit)
  const found = await findUserById({ prisma: tx }, user.id)
  if (!found || !hasAdminRole(found.user, config.current())) throw forbidden()
}

/** The parts of the app for the changes of this request. Each change checks that the caller is still an administrator. */
export function adminOf(visit: Visit): Admin {
  const { database, config, features, sessionListener, mail, counters } = visit.app
  const lockAccounts: Admin['lockAccounts'] = (tx, userIds) => lockAsAdministrator(visit, tx, userIds)
  return { database, config, features, sessionListener, mail, counters, lockAccounts }
}

/** The database for changes of this request that lock no account. */
export function databaseOf(visit: Visit): Database {
  const { database } = visit.app
  const transaction: Database['transaction'] = (work) =>
    database.transaction(async (tx) => {
      await lockAsAdministrator(visit, tx, [])
      return work(tx)
    })
  return { ...database, transaction }
}
