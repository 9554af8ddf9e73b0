import type { FastifyInstance } from 'fastify'
import { deleteAuthorizations, deletePersonalTokens } from './features/oauth/applications/store.ts'
import { deleteRecordsOf } from './features/oauth/protocol/store.ts'
import { deletePasskeysOf } from './features/passkeys/store.ts'
import { deleteSamples } from './features/samples/store.ts'
import { deleteLinksOf } from './features/social/store.ts'
import { deleteTokens, lockTokens } from './features/tokens/store.ts'
import { endSessionsOf } from './login/sign-in.ts'
import type { Tx } from './plugins/database/database.ts'
import { clearTwoFactor } from './users/two-factor.ts'

type AccountChange = (tx: Tx, userId: number) => Promise<void>

/** What all slices together keep of an account: each that keeps something has its line here. */
interface Accounts {
  /** Deletes the API tokens and the personal access tokens; none is passed on at the same moment. */
  revokeTokens: AccountChange
  /** Ends what applications may do for the user; what they were allowed is remembered for the next sign-in. */
  revokeGrants: AccountChange
  /** Takes away everything that opens the account, but the password. */
  claimAccount: AccountChange
  /** Deletes everything that refers to the user without a foreign key. */
  forgetUser: AccountChange
}

/** The changes of a whole account, for slices that bring them about. */
export function accountsOf(app: Pick<FastifyInstance, 'database' | 'sessionFollower'>): Accounts {
  const revokeTokens: AccountChange = async (tx, userId) => {
    await lockTokens(app.database, tx, userId)
    await deleteTokens(tx, userId)
    await deletePersonalTokens(tx, userId)
  }
  const claimAccount: AccountChange = async (tx, userId) => {
    await revokeTokens(tx, userId)
    // Before what they came with is deleted: clients are told of the sign-out.
    await endSessionsOf(app, tx, userId)
    await deleteAuthorizations(tx, userId)
    await clearTwoFactor(tx, userId)
    await deletePasskeysOf(tx, userId)
    await deleteLinksOf(tx, userId)
  }
  const forgetUser: AccountChange = async (tx, userId) => {
    await claimAccount(tx, userId)
    await deleteSamples(tx, userId)
  }
  const revokeGrants: AccountChange = async (tx, userId) => {
    // Who gets a grant by the password waits here, and finds another one.
    await lockTokens(app.database, tx, userId)
    await app.sessionFollower.ended(tx, { userId, except: null })
    await deleteRecordsOf(tx, userId)
  }
  return { revokeTokens, revokeGrants, claimAccount, forgetUser }
}
