import type { FastifyInstance } from 'fastify'
import { type MailShare, mailboxOf } from '../platform/mail/budget.ts'
import { type EventContext, recordEvent } from './events.ts'
import type { User } from './user.ts'

/** Returns whose share of a mailbox's budget a signed-in user spends. */
export function shareOf(
  { email, email_verified_at }: Pick<User, 'email' | 'email_verified_at'>,
  to: string,
): MailShare {
  // Only a verified address is the user's own: anyone can register with the address of another person.
  return email_verified_at !== null && mailboxOf(email) === mailboxOf(to) ? 'known' : 'user'
}

/** A mail that svc did not send. */
interface Unsent {
  userId: number
  template: 'reset-password' | 'login-code' | 'unlock-sign-in'
  /** `mail_limit`: the share of the mailbox is spent. `unverified_address`: the owner can still undo the address. */
  reason: 'mail_limit' | 'unverified_address'
}

/** Records a suppressed mail for the activity of its account, because the response must not tell. */
export const noteUnsent = (
  { database }: Pick<FastifyInstance, 'database'>,
  origin: EventContext,
  { userId, template, reason }: Unsent,
): Promise<void> =>
  database.transaction((tx) => recordEvent(tx, origin, { type: 'mail_not_sent', userId, reason, data: { template } }))
