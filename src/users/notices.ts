import type { FastifyInstance } from 'fastify'
import type { Tx } from '../plugins/database/database.ts'
import { browserName } from './browser-name.ts'
import type { Origin } from './events.ts'

/** The changes of an account that its owner is told of. */
export type NoticeKind =
  | 'account_deleted'
  | 'email_changed'
  | 'passkey_added'
  | 'passkey_removed'
  | 'password_changed'
  | 'password_reset'
  | 'recovery_code_used'
  | 'recovery_codes_generated'
  | 'social_linked'
  | 'social_unlinked'
  | 'two_factor_disabled'
  | 'two_factor_enabled'

interface NoticeFacts {
  /** For `email_changed`, which goes to the old address: the new one, of which the mail shows a little. */
  newEmail?: string
  /** For `social_linked` and `social_unlinked`: the provider's label. */
  provider?: string
}

/** Queues a mail that tells an account's owner of a change, in the transaction of that change. */
export async function notify(
  { mail }: Pick<FastifyInstance, 'mail'>,
  tx: Tx,
  origin: Origin,
  to: string,
  kind: NoticeKind,
  { newEmail, provider }: NoticeFacts = {},
): Promise<void> {
  await mail.queue(tx, {
    to,
    template: 'security-notice',
    // No name of anybody, and nothing that a client says of itself: either is text that somebody chose, and whoever
    // claims another's address would have it mailed there.
    data: {
      kind,
      when: new Date(origin.now).toUTCString(),
      ipAddress: origin.ipAddress,
      userAgent: origin.userAgent === null ? null : browserName(origin.userAgent),
      newEmail: newEmail === undefined ? null : masked(newEmail),
      provider: provider ?? null,
    },
  })
}

/** Enough of an address for its owner to know it: `a…@example.com`. */
const masked = (email: string): string => {
  const at = email.lastIndexOf('@')
  return `${[...email.slice(0, at)][0] ?? ''}…${email.slice(at)}`
}
