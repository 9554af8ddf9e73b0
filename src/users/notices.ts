import type { Tx } from '../database/database.ts'
import { limitedAddress } from '../http/client-address.ts'
import type { Mail } from '../mail/mail.ts'
import { browserName } from './browser-name.ts'
import type { EventContext } from './events.ts'
import type { User } from './user.ts'

/** The changes of an account that svc notifies its owner of. */
export type NoticeKind =
  | 'account_deleted'
  | 'email_change_requested'
  | 'email_changed'
  | 'new_sign_in'
  | 'passkey_added'
  | 'passkey_removed'
  | 'password_changed'
  | 'password_reset'
  | 'personal_token_created'
  | 'recovery_code_used'
  | 'recovery_codes_generated'
  | 'remember_replayed'
  | 'social_linked'
  | 'social_unlinked'
  | 'token_created'
  | 'two_factor_disabled'
  | 'two_factor_enabled'
  | 'two_factor_reset'

interface NoticeFacts {
  /** For changes of the address, of which the old one is notified: the new one, of which the mail shows a little. */
  newEmail?: string
  /** For changes of the address: the link that undoes it. */
  undo?: string
  /** For `social_linked` and `social_unlinked`: the provider's label. */
  provider?: string
  /** For `new_sign_in` of an application: its configured name. */
  application?: string
  /** For `new_sign_in`: where the user resets the password. */
  resetLink?: string
}

/** Who gets a notice. */
type Recipient = Pick<User, 'id' | 'email' | 'email_verified_at'>

/**
 * Queues a mail that notifies an account's owner of a change, in the transaction of that change. Only verified addresses
 * get one: anyone can register with an address of someone else.
 */
export async function notify(
  { mail }: { mail: Pick<Mail, 'queueNotice'> },
  tx: Tx,
  origin: EventContext,
  user: Recipient,
  kind: NoticeKind,
  { newEmail, undo, provider, application, resetLink }: NoticeFacts = {},
): Promise<void> {
  if (user.email_verified_at === null) return
  // No names and nothing that a client says of itself: both are text that an attacker could choose and have mailed.
  const data = {
    kind,
    when: new Date(origin.now).toUTCString(),
    ipAddress: origin.ipAddress,
    userAgent: origin.userAgent === null ? null : browserName(origin.userAgent),
    newEmail: newEmail === undefined ? null : masked(newEmail),
    undo: undo ?? null,
    provider: provider ?? null,
    application: application ?? null,
    resetLink: resetLink ?? null,
  }
  const cause = { userId: user.id, ipAddress: origin.ipAddress }
  const facts = [newEmail ?? '', provider ?? '', application ?? '']
  // Two sign-ins are equal only if they look alike: one from elsewhere must not wait for the other's hour to end.
  if (kind === 'new_sign_in') facts.push(data.userAgent ?? '', limitedAddress(origin.ipAddress ?? ''))
  const alike = [user.email, kind].join('\0')
  const draft = { to: user.email, template: 'security-notice', data } as const
  await mail.queueNotice(tx, draft, cause, { equal: [alike, ...facts].join('\0'), alike })
}

/** Enough of an address for its owner to know it: `a…@example.com`. */
const masked = (email: string): string => {
  const at = email.lastIndexOf('@')
  return `${[...email.slice(0, at)][0] ?? ''}…${email.slice(at)}`
}
