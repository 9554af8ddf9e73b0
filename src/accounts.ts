import type { FastifyInstance } from 'fastify'
import type { Tx } from './database/database.ts'
import { deleteAuthorizations, deletePersonalTokens } from './features/oauth/applications/store.ts'
import { deleteRecordsOf } from './features/oauth/protocol/ended/store.ts'
import { deleteJobsOf } from './jobs/outbox-rows.ts'
import { endSessionsOf } from './login/end-sessions.ts'
import type { Mail } from './mail/mail.ts'
import { deleteTokens } from './tokens/store.ts'
import { forgetEmailChanges } from './users/email-change.ts'
import { clearEventsOf, type EventContext, recordEvent, withoutPerson } from './users/events.ts'
import { lockUser } from './users/lock.ts'
import { notify } from './users/notices.ts'
import { clearTwoFactor } from './users/two-factor.ts'
import type { User } from './users/user.ts'
import { deleteUser } from './users/users.ts'

/** Tables whose rows `svc restore --end-sessions` deletes, so that all users are signed out. */
export const signedInTables = ['sessions', 'remember_tokens', 'oauth_records'] as const

type AccountChange = (tx: Tx, userId: number) => Promise<void>

/** Account-wide changes. */
interface Accounts {
  /** Deletes API tokens and personal access tokens, including concurrently issued ones. */
  revokeTokens: AccountChange
  /** Ends the access of applications. Keeps the consents for the next sign-in. */
  revokeGrants: AccountChange
  /** Revokes everything issued to the user: tokens, sessions, remembered browsers, grants and consents. */
  revokeAccess: AccountChange
  /** Removes every sign-in method except the password. */
  claimAccount: AccountChange
  /** Revokes everything issued to the user, and removes sign-in methods that were added since a date. */
  secureAccount: (tx: Tx, userId: number, since: Date) => Promise<void>
  /** Deletes the account and its personal data in the audit trail, and notifies the user. False if it no longer exists. */
  deleteAccount: (tx: Tx, origin: EventContext, user: User) => Promise<boolean>
}

type Revoking = Pick<FastifyInstance, 'database' | 'sessionListener'>

/** The parts of an app that account-wide changes use. Commands create these parts without an app. */
export type AccountParts = Revoking & Pick<FastifyInstance, 'config' | 'features'> & { mail: Pick<Mail, 'queueNotice'> }

/** Revokes what was issued to a user. */
function revocationsOf(app: Revoking): Pick<Accounts, 'revokeTokens' | 'revokeAccess'> {
  const revokeTokens: AccountChange = async (tx, userId) => {
    await lockUser(app.database, tx, userId)
    await deleteTokens(tx, userId)
    await deletePersonalTokens(tx, userId)
  }
  const revokeAccess: AccountChange = async (tx, userId) => {
    await revokeTokens(tx, userId)
    // Sessions end before svc deletes the records, which name the clients to notify.
    await endSessionsOf(app, tx, userId)
    await deleteAuthorizations(tx, userId)
  }
  return { revokeTokens, revokeAccess }
}

/** Returns the origin of a deletion without personal data. Removes the address and the name from the reason. */
function forgettingOrigin(origin: EventContext, { email, name }: User): EventContext {
  const personal = [email, name].filter(Boolean).map((text) => text.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&'))
  const reason = origin.reason?.replace(new RegExp(personal.join('|'), 'giu'), '…') ?? null
  return { ...withoutPerson(origin), reason }
}

/** Account-wide changes for features. */
export function accountsOf(app: AccountParts): Accounts {
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
  const deleteAccount = async (tx: Tx, origin: EventContext, user: User): Promise<boolean> => {
    await claimAccount(tx, user.id)
    // Deletes rows without a foreign key to the user.
    for (const { deleteDataOf } of app.features) await deleteDataOf?.(tx, user.id)
    await deleteJobsOf(tx, user.id)
    await clearEventsOf(tx, user.id)
    if (!(await deleteUser(tx, user.id))) return false
    await recordEvent(tx, forgettingOrigin(origin, user), { type: 'user_deleted', userId: user.id })
    await notify(app, tx, origin, user, 'account_deleted')
    return true
  }
  const revokeGrants: AccountChange = async (tx, userId) => {
    await lockUser(app.database, tx, userId)
    await app.sessionListener.ended(tx, { userId, except: null })
    await deleteRecordsOf(tx, userId)
  }
  return { revokeTokens, revokeGrants, revokeAccess, claimAccount, secureAccount, deleteAccount }
}
