import type { FastifyInstance } from 'fastify'
import type { Tx } from './database/database.ts'
import { deleteAuthorizations, deletePersonalTokens } from './features/oauth/applications/store.ts'
import { deleteRecordsOf } from './features/oauth/protocol/ended/store.ts'
import { deleteChallengesOf } from './features/passkeys/challenges/store.ts'
import { deletePasskeysOf } from './features/passkeys/store.ts'
import { deleteSamples } from './features/samples/store.ts'
import { deleteLinksOf } from './features/social/store.ts'
import { deleteWorkOf } from './jobs/outbox-rows.ts'
import { endSessionsOf } from './login/end-sessions.ts'
import { deleteTokens } from './tokens/store.ts'
import { forgetEmailChanges } from './users/email-change.ts'
import { clearEventsOf } from './users/events.ts'
import { lockUser } from './users/lock.ts'
import { clearTwoFactor } from './users/two-factor.ts'

type AccountChange = (tx: Tx, userId: number) => Promise<void>

/** What all slices together keep of an account: each that keeps something has its line here. */
interface Accounts {
  /** Deletes the API tokens and the personal access tokens; none is passed on at the same moment. */
  revokeTokens: AccountChange
  /** Ends what applications may do for the user; what they were allowed is remembered for the next sign-in. */
  revokeGrants: AccountChange
  /** Revokes everything that was issued to the user: tokens, sessions, remembered browsers, grants and consents. */
  revokeAccess: AccountChange
  /** Takes away everything that opens the account, except the password. */
  claimAccount: AccountChange
  /** Revokes everything that was issued to the user, and removes the ways in that were added since then. */
  secureAccount: (tx: Tx, userId: number, since: Date) => Promise<void>
  /** Deletes everything that refers to the user without a foreign key, and clears the person from the audit trail. */
  forgetUser: AccountChange
}

/** The changes of a whole account, for slices that bring them about. */
export function accountsOf(app: Pick<FastifyInstance, 'database' | 'sessionListener'>): Accounts {
  const revokeTokens: AccountChange = async (tx, userId) => {
    await lockUser(app.database, tx, userId)
    await deleteTokens(tx, userId)
    await deletePersonalTokens(tx, userId)
  }
  const revokeAccess: AccountChange = async (tx, userId) => {
    await revokeTokens(tx, userId)
    // Before the records are deleted, because they name the clients to notify of the sign-out.
    await endSessionsOf(app, tx, userId)
    await deleteAuthorizations(tx, userId)
  }
  const claimAccount: AccountChange = async (tx, userId) => {
    await revokeAccess(tx, userId)
    await clearTwoFactor(tx, userId)
    await deletePasskeysOf(tx, userId)
    await deleteLinksOf(tx, userId)
    await forgetEmailChanges(tx, userId)
  }
  const secureAccount = async (tx: Tx, userId: number, since: Date): Promise<void> => {
    await revokeAccess(tx, userId)
    await clearTwoFactor(tx, userId, since)
    await deletePasskeysOf(tx, userId, since)
    await deleteLinksOf(tx, userId, since)
  }
  const forgetUser: AccountChange = async (tx, userId) => {
    await claimAccount(tx, userId)
    await deleteSamples(tx, userId)
    await deleteChallengesOf(tx, userId)
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
