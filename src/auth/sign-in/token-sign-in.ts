import { eventInsertion, recordEvent } from '../../identity/events.ts'
import { lockAndCheckAccount } from '../../identity/lock.ts'
import { type UserWithPassword, unchangedAccount } from '../../identity/users.ts'
import type { Tx } from '../../platform/database/database.ts'
import { querySql, sql } from '../../platform/database/sql.ts'
import { unauthenticated } from '../../platform/errors.ts'
import { acceptTerms, termsToRecord } from '../access/accepted-terms.ts'
import { mustVerifyAddress } from '../access/verified-address.ts'
import type { Visit } from '../access/visit.ts'
import { type AuthenticationMethod, codeMethod, passwordMethod } from './authentication-methods.ts'
import type { Channel } from './channel.ts'
import { amrOf } from './new-session.ts'
import type { SecondFactorInput } from './second-factor.ts'

/** Not exported, so that only `checkTokenSignIn` makes a `TokenSignIn`. */
const checked = Symbol('checked')

/** A sign-in without a session that passed every check after its first factor. */
export interface TokenSignIn extends UserWithPassword {
  readonly [checked]: true
  channel: Channel
  /** Whether the user proved a second factor too. */
  usedSecondFactor: boolean
}

/** Records a sign-in in a transaction. Returns false if the account has changed since its checks. */
export async function recordTokenSignIn(
  tx: Tx,
  visit: Visit,
  account: TokenSignIn,
  data: Record<string, string>,
): Promise<boolean> {
  const { database, subscriber } = visit.app
  const event = { type: 'login', userId: account.user.id, data } as const
  if (database.engine === 'sqlite' || subscriber.wants(event)) {
    if (!(await lockAndCheckAccount(database, tx, account.user.id, { account }))) return false
    await recordEvent(tx, visit.origin, event)
    return true
  }
  const { insertion, note } = eventInsertion(visit.origin, event)
  const statement = sql`
    WITH account AS (${unchangedAccount(account)}),
    noted AS (${insertion})
    SELECT id FROM account`
  const recorded = await querySql({ engine: 'postgresql', prisma: tx }, 'token-sign-in', statement)
  if (recorded.length === 0) return false
  note()
  return true
}

/** What an app sends besides the first factor. */
export interface TokenSignInInput extends SecondFactorInput {
  /** The version of the terms that the user accepts. */
  terms?: string | null | undefined
}

interface TokenSignInFacts {
  channel: Channel
  proof?: TokenSignInInput
  /** How the user proved the first factor. Default: password. */
  method?: AuthenticationMethod
  isNewAccount?: boolean
}

/** Why a sign-in without a session is refused after its first factor. */
type TokenRefusal = 'email_unverified' | 'second_factor'

/**
 * Checks what follows the first factor of a sign-in without a session: the address is verified where the configuration
 * requires it, the second factor is proved where the account has one, and the hook before_sign_in allows it. Throws 422 if
 * the hook refuses, or the user has not accepted the terms. Every token that a sign-in issues needs the
 * result. The issuer checks under lock (`lockAndCheckAccount`) that the account has not changed.
 */
export async function checkTokenSignIn(
  visit: Visit,
  { user, password }: UserWithPassword,
  { channel, proof = {}, method = passwordMethod, isNewAccount = false }: TokenSignInFacts,
): Promise<TokenSignIn | TokenRefusal> {
  const { config, secondFactor } = visit.app
  if (mustVerifyAddress(config.current(), user)) return 'email_unverified'
  // Before the code of the second factor, which works once.
  const version = termsToRecord(visit, user, proof.terms)
  const usedSecondFactor = secondFactor.isAskedAfter(user, method)
  const amr = amrOf(usedSecondFactor ? { method, completes: codeMethod } : { method })
  const decide = () => visit.app.decisions.signIn(visit, { user, channel, method: method.name, amr, isNewAccount })
  if (!usedSecondFactor) await decide()
  else if (!(await secondFactor.check(visit, user, proof, channel, decide))) return 'second_factor'
  const account = { user, password }
  const isTheirs = async (tx: Tx) => {
    if (!(await lockAndCheckAccount(visit.app.database, tx, user.id, { account }))) throw unauthenticated()
  }
  const accepted = version === null ? null : await acceptTerms(visit, { userId: user.id, version }, isTheirs)
  return { user: accepted ?? user, password, channel, usedSecondFactor, [checked]: true }
}
