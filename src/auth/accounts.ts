import type { FastifyInstance } from 'fastify'
import { forgetEmailChanges } from '../identity/email-change.ts'
import { clearEventsOf, type EventContext, recordEvent, withoutPerson } from '../identity/events.ts'
import { lockUser } from '../identity/lock.ts'
import { notify } from '../identity/notices.ts'
import { forgetOwnData } from '../identity/own-data.ts'
import { clearTwoFactor } from '../identity/two-factor.ts'
import type { User } from '../identity/user.ts'
import { deleteUser } from '../identity/users.ts'
import type { WayIn } from '../identity/ways-in.ts'
import type { Tx } from '../platform/database/database.ts'
import { deleteJobsOf } from '../platform/jobs/outbox-rows.ts'
import type { Mail } from '../platform/mail/mail.ts'
import { endSessionsOf } from './sign-in/end-sessions.ts'
import { deleteTokens } from './tokens/store.ts'

/** Tables whose rows `svc restore --end-sessions` deletes, so that all users are signed out. */
export const signedInTables = ['sessions', 'remember_tokens', 'oauth_records', 'trusted_browsers'] as const

type AccountChange = (tx: Tx, userId: number) => Promise<void>

/** What a feature adds to account-wide changes, in their transaction. */
export interface AccountHooks {
  /** A way to sign in without a password. An account must keep at least one way to sign in. */
  wayIn?: WayIn
  /** Deletes the tokens that the feature issued to the user. */
  revokeTokens?: AccountChange
  /** Ends the access of applications. Keeps the consents. */
  revokeGrants?: AccountChange
  /** Ends the access of applications and deletes the consents. */
  revokeAuthorizations?: AccountChange
  /** Deletes data of an account that has no foreign key to the user. */
  deleteDataOf?: AccountChange
}

/** Account-wide changes. */
interface Accounts {
  /** Deletes API tokens and personal access tokens, including concurrently issued ones. */
  revokeTokens: AccountChange
  /** Ends the access of applications. Keeps the consents for the next sign-in. */
  revokeGrants: AccountChange
  /** Revokes everything issued to the user: tokens, sessions, remembered browsers, grants and consents. */
  revokeAccess: AccountChange
  /** Removes every sign-in method except the password, and what the earlier owner said about the account. */
  claimAccount: AccountChange
  /** Revokes everything issued to the user, and removes sign-in methods that were added since a date. */
  secureAccount: (tx: Tx, userId: number, since: Date) => Promise<void>
  /** Deletes the account and its personal data in the audit trail, and notifies the user. False if it no longer exists. */
  deleteAccount: (tx: Tx, origin: EventContext, user: User) => Promise<boolean>
}

declare module 'fastify' {
  interface FastifyInstance {
    accounts: Accounts
  }
}

type Revoking = Pick<FastifyInstance, 'database' | 'sessionListener'> & { features: readonly AccountHooks[] }

/** The parts of an app that account-wide changes use. Commands create these parts without an app. */
export type AccountParts = Revoking & Pick<FastifyInstance, 'config'> & { mail: Pick<Mail, 'queueNotice'> }

/** Revokes what was issued to a user. */
function revocationsOf(app: Revoking): Pick<Accounts, 'revokeTokens' | 'revokeAccess'> {
  const revokeTokens: AccountChange = async (tx, userId) => {
    await lockUser(app.database, tx, userId)
    await deleteTokens(tx, userId)
    for (const { revokeTokens } of app.features) await revokeTokens?.(tx, userId)
  }
  const revokeAccess: AccountChange = async (tx, userId) => {
    await revokeTokens(tx, userId)
    // Sessions end before svc deletes the records, which name the clients to notify.
    await endSessionsOf(app, tx, userId)
    for (const { revokeAuthorizations } of app.features) await revokeAuthorizations?.(tx, userId)
  }
  return { revokeTokens, revokeAccess }
}

/** Returns the origin of a deletion without personal data. Removes the address and the names from the reason. */
function forgettingOrigin(origin: EventContext, { email, name, username }: User): EventContext {
  const personal = [email, name, username].filter(Boolean).map((text) => text.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&'))
  const reason = origin.reason?.replace(new RegExp(personal.join('|'), 'giu'), '…') ?? null
  return { ...withoutPerson(origin), reason }
}

/** Account-wide changes for features. */
export function accountsOf(app: AccountParts): Accounts {
  const { revokeTokens, revokeAccess } = revocationsOf(app)
  const emptyAccount: AccountChange = async (tx, userId) => {
    await revokeAccess(tx, userId)
    await clearTwoFactor(tx, userId)
    for (const { wayIn } of app.features) await wayIn?.remove(tx, userId)
    await forgetEmailChanges(tx, userId)
  }
  const claimAccount: AccountChange = async (tx, userId) => {
    await emptyAccount(tx, userId)
    await forgetOwnData(tx, app.config.current(), userId)
  }
  const secureAccount = async (tx: Tx, userId: number, since: Date): Promise<void> => {
    await revokeAccess(tx, userId)
    await clearTwoFactor(tx, userId, since)
    for (const { wayIn } of app.features) await wayIn?.remove(tx, userId, since)
  }
  const deleteAccount = async (tx: Tx, origin: EventContext, user: User): Promise<boolean> => {
    await emptyAccount(tx, user.id)
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
    for (const { revokeGrants } of app.features) await revokeGrants?.(tx, userId)
  }
  return { revokeTokens, revokeGrants, revokeAccess, claimAccount, secureAccount, deleteAccount }
}
