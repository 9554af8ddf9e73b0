import type { Tx } from '../database/database.ts'
import { limitedAddress } from '../http/client-address.ts'
import type { Mail } from '../mail/mail.ts'
import { browserName } from './browser-name.ts'
import type { EventContext } from './events.ts'
import type { User } from './user.ts'

/** Account changes that svc notifies the user of. */
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
  /** For address changes: the new address, partially masked in the mail. */
  newEmail?: string
  /** For address changes: the undo link. */
  undo?: string
  /** For `social_linked` and `social_unlinked`: the provider's label. */
  provider?: string
  /** For `new_sign_in` of an application: its configured name. */
  application?: string
  /** For `new_sign_in`: where the user resets the password. */
  resetLink?: string
}

/** Recipient of a notice. */
type Recipient = Pick<User, 'id' | 'email' | 'email_verified_at'>

/**
 * Queues a notice in the transaction of its change. Only verified addresses get notices, because anyone can register
 * with another person's address.
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
  // No names or client-supplied text, which an attacker could choose.
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
  // A sign-in from another browser or network is not equal, so its notice is not delayed.
  if (kind === 'new_sign_in') facts.push(data.userAgent ?? '', limitedAddress(origin.ipAddress ?? ''))
  const alike = [user.email, kind].join('\0')
  const draft = { to: user.email, template: 'security-notice', data } as const
  await mail.queueNotice(tx, draft, cause, { equal: [alike, ...facts].join('\0'), alike })
}

/** Masks an address so that its owner recognises it: `a…@example.com`. */
const masked = (email: string): string => {
  const at = email.lastIndexOf('@')
  return `${[...email.slice(0, at)][0] ?? ''}…${email.slice(at)}`
}
