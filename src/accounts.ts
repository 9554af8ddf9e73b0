import type { FastifyInstance } from 'fastify'
import type { Tx } from './database/database.ts'
import { deleteAuthorizations, deletePersonalTokens } from './features/oauth/applications/store.ts'
import { deleteRecordsOf } from './features/oauth/protocol/ended/store.ts'
import { deleteWorkOf } from './jobs/outbox-rows.ts'
import { endSessionsOf } from './login/end-sessions.ts'
import { deleteTokens } from './tokens/store.ts'
import { forgetEmailChanges } from './users/email-change.ts'
import { clearEventsOf } from './users/events.ts'
import { lockUser } from './users/lock.ts'
import { clearTwoFactor } from './users/two-factor.ts'

type AccountChange = (tx: Tx, userId: number) => Promise<void>

/** Account-wide changes. */
interface Accounts {
  /** Deletes API tokens and personal access tokens, including concurrently issued ones. */
  revokeTokens: AccountChange
  /** Ends the access of applications; consents stay for the next sign-in. */
  revokeGrants: AccountChange
  /** Revokes everything issued to the user: tokens, sessions, remembered browsers, grants and consents. */
  revokeAccess: AccountChange
  /** Removes every sign-in method except the password. */
  claimAccount: AccountChange
  /** Revokes everything issued to the user, and removes sign-in methods added since then. */
  secureAccount: (tx: Tx, userId: number, since: Date) => Promise<void>
  /** Deletes data without a foreign key to the user, and personal data in the audit trail. */
  forgetUser: AccountChange
}

type Revoking = Pick<FastifyInstance, 'database' | 'sessionListener'>

/** Revokes what was issued to a user. Commands use it without an app. */
export function revocationsOf(app: Revoking): Pick<Accounts, 'revokeTokens' | 'revokeAccess'> {
  const revokeTokens: AccountChange = async (tx, userId) => {
    await lockUser(app.database, tx, userId)
    await deleteTokens(tx, userId)
    await deletePersonalTokens(tx, userId)
  }
  const revokeAccess: AccountChange = async (tx, userId) => {
    await revokeTokens(tx, userId)
    // Before the records are deleted, because they name the clients to notify.
    await endSessionsOf(app, tx, userId)
    await deleteAuthorizations(tx, userId)
  }
  return { revokeTokens, revokeAccess }
}

/** Account-wide changes for features. */
export function accountsOf(app: Revoking & Pick<FastifyInstance, 'features'>): Accounts {
  const { revokeTokens, revokeAccess } = revocationsOf(app)
  const claimAccount: AccountChange = async (tx, userId) => {
    await revokeAccess(tx, userId)
    await clearTwoFactor(tx, userId)
    for (const { wayIn } of app.features) await wayIn?.remove(tx, userId)
    await forgetEmailChanges(tx, userId)
  }
  const secureAccount = async (tx: Tx, userId: number, since: Date): Promise<void> => {
    await revokeAccess(tx, userId)
    await clearTwoFactor(tx, userId, since)
    for (const { wayIn } of app.features) await wayIn?.remove(tx, userId, since)
  }
  const forgetUser: AccountChange = async (tx, userId) => {
    await claimAccount(tx, userId)
    for (const { deleteDataOf } of app.features) await deleteDataOf?.(tx, userId)
    await deleteWorkOf(tx, userId)
    await clearEventsOf(tx, userId)
  }
  const revokeGrants: AccountChange = async (tx, userId) => {
    await lockUser(app.database, tx, userId)
    await app.sessionListener.ended(tx, { userId, except: null })
    await deleteRecordsOf(tx, userId)
  }
  return { revokeTokens, revokeGrants, revokeAccess, claimAccount, secureAccount, forgetUser }
}
