import type { FastifyInstance } from 'fastify'
import type { AccountParts } from '../accounts.ts'
import type { Tx } from '../database/database.ts'
import type { Mail } from '../mail/mail.ts'
import { lockUsers } from '../users/lock.ts'

/** Locks accounts until the transaction ends. */
type Hold = (tx: Tx, userIds: readonly number[]) => Promise<void>

/** What operations of administrators use: the parts of an app, which commands have without an app. */
export type Admin = AccountParts &
  Pick<FastifyInstance, 'counters'> & {
    mail: Pick<Mail, 'queue' | 'queueNotice'>
    /** Throws if the caller may no longer make changes. Commands have none. */
    hold?: Hold
  }

/** Locks the accounts of a change before anything else in its transaction. Throws if the caller may no longer make it. */
export const holdAccounts = ({ database, hold }: Admin, tx: Tx, userIds: readonly number[]): Promise<void> =>
  hold ? hold(tx, userIds) : lockUsers(database, tx, userIds)
