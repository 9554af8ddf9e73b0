import type { FastifyInstance } from 'fastify'
import type { AccountParts } from '../../auth/accounts.ts'
import { lockUsers } from '../../identity/lock.ts'
import type { Tx } from '../../platform/database/database.ts'
import type { Mail } from '../../platform/mail/mail.ts'

/** Locks accounts until the transaction ends. */
type Lock = (tx: Tx, userIds: readonly number[]) => Promise<void>

/** The parts of an app that operations of administrators use. Commands create these parts without an app. */
export type Admin = AccountParts &
  Pick<FastifyInstance, 'counters'> & {
    mail: Pick<Mail, 'queue' | 'queueNotice'>
    /** Replaces the lock of `lockForAdmin`, and throws if the caller may no longer make changes. Undefined for commands. */
    lockAccounts?: Lock
  }

/** Locks the accounts that a transaction changes. Call it first. Throws if the caller may no longer make the change. */
export const lockForAdmin = ({ database, lockAccounts }: Admin, tx: Tx, userIds: readonly number[]): Promise<void> =>
  lockAccounts ? lockAccounts(tx, userIds) : lockUsers(database, tx, userIds)
