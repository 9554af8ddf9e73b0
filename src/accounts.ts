import { deleteAuthorizations, deletePersonalTokens } from './features/oauth/applications/store.ts'
import { deletePasskeysOf } from './features/passkeys/store.ts'
import { deleteSamples } from './features/samples/store.ts'
import { deleteTokens, lockTokens } from './features/tokens/store.ts'
import { endSessionsOf } from './login/sign-in.ts'
import type { Database, Tx } from './plugins/database/database.ts'
import { clearTwoFactor } from './users/two-factor.ts'

type AccountChange = (tx: Tx, userId: number) => Promise<void>

/** What all slices together keep of an account: each that keeps something has its line here. */
interface Accounts {
  /** Deletes the API tokens and the personal access tokens; none is passed on at the same moment. */
  revokeTokens: AccountChange
  /** Takes away everything that opens the account, but the password. */
  claimAccount: AccountChange
  /** Deletes everything that refers to the user without a foreign key. */
  forgetUser: AccountChange
}

/** The changes of a whole account, for slices that bring them about. */
export function accountsOf(database: Database): Accounts {
  const revokeTokens: AccountChange = async (tx, userId) => {
    await lockTokens(database, tx, userId)
    await deleteTokens(tx, userId)
    await deletePersonalTokens(tx, userId)
  }
  const claimAccount: AccountChange = async (tx, userId) => {
    await revokeTokens(tx, userId)
    await deleteAuthorizations(tx, userId)
    await endSessionsOf(tx, userId)
    await clearTwoFactor(tx, userId)
    await deletePasskeysOf(tx, userId)
  }
  const forgetUser: AccountChange = async (tx, userId) => {
    await claimAccount(tx, userId)
    await deleteSamples(tx, userId)
  }
  return { revokeTokens, claimAccount, forgetUser }
}
