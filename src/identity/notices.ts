import { accountLink, forgotPage, helpLink, ownLink } from '../pages/links.ts'
import type { CurrentConfig } from '../platform/config/current.ts'
import type { AccountPageName } from '../platform/config/sections/accounts.ts'
import type { Tx } from '../platform/database/database.ts'
import { limitedAddress } from '../platform/http/client-address.ts'
import type { Mail } from '../platform/mail/mail.ts'
import { browserName } from './browser-name.ts'
import { type EventContext, userRef } from './events.ts'
import { maskedAddress } from './masked-address.ts'
import type { User } from './user.ts'

/** Account changes that svc notifies the user of. */
export type NoticeKind =
  | 'account_deleted'
  | 'application_authorized'
  | 'data_exported'
  | 'device_signed_in'
  | 'email_change_requested'
  | 'email_changed'
  | 'impersonation_started'
  | 'new_sign_in'
  | 'passkey_added'
  | 'passkey_removed'
  | 'password_changed'
  | 'password_removed'
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
  /** For `device_signed_in`: the name that the app gave the device. */
  device?: string
  /** For `application_authorized` and `new_sign_in` of an application: its configured name. */
  application?: string
}

/** How a notice helps a user who did not make the change. */
type Remedy = 'contact' | 'end' | 'reset' | 'review' | 'undo'

/**
 * What undoes each change: a new password, or a section of the account pages. A new password comes first if the change
 * shows that an attacker knows the old one or has a session.
 */
const remedies: Record<NoticeKind, readonly [Remedy, AccountPageName?]> = {
  account_deleted: ['contact'],
  application_authorized: ['review', 'applications'],
  data_exported: ['reset', 'sessions'],
  device_signed_in: ['review', 'tokens'],
  email_change_requested: ['review', 'profile'],
  email_changed: ['contact'],
  impersonation_started: ['end', 'sessions'],
  new_sign_in: ['reset', 'sessions'],
  passkey_added: ['review', 'passkeys'],
  passkey_removed: ['review', 'passkeys'],
  password_changed: ['reset', 'sessions'],
  password_removed: ['reset', 'sessions'],
  password_reset: ['reset', 'sessions'],
  personal_token_created: ['review', 'personal-tokens'],
  recovery_code_used: ['review', 'two-factor'],
  recovery_codes_generated: ['review', 'two-factor'],
  remember_replayed: ['reset', 'sessions'],
  social_linked: ['review', 'providers'],
  social_unlinked: ['review', 'providers'],
  token_created: ['review', 'tokens'],
  two_factor_disabled: ['review', 'two-factor'],
  two_factor_enabled: ['review', 'two-factor'],
  two_factor_reset: ['review', 'two-factor'],
}

/** What helps where svc has no account pages. */
function withoutPage(remedy: Remedy, reviewLink: string | null): Remedy {
  if (reviewLink !== null) return remedy
  return remedy === 'end' ? 'contact' : remedy === 'review' ? 'reset' : remedy
}

/** Recipient of a notice. */
export type Recipient = Pick<User, 'id' | 'email' | 'email_verified_at' | 'language'>

/**
 * Queues a notice in the transaction of its change. Only verified addresses get notices, because anyone can register
 * with another person's address.
 */
export async function notify(
  { mail, config }: { mail: Pick<Mail, 'queueNotice'>; config: CurrentConfig },
  tx: Tx,
  origin: EventContext,
  user: Recipient,
  kind: NoticeKind,
  { newEmail, undo, provider, application, device }: NoticeFacts = {},
): Promise<void> {
  if (user.email_verified_at === null) return
  const [remedy, section] = remedies[kind]
  const current = config.current()
  const reviewLink = section === undefined ? null : accountLink(current, section)
  // The notice does not show the address and browser of an administrator.
  const isOwn = origin.actor === null || ['system', userRef(user.id)].includes(origin.actor)
  const { ipAddress, userAgent } = isOwn ? origin : { ipAddress: null, userAgent: null }
  // The mail contains no names and no text of the client, which an attacker could choose, except the letters of a device.
  const data = {
    kind,
    when: new Date(origin.now).toISOString(),
    ipAddress,
    userAgent: userAgent === null ? null : browserName(userAgent),
    oldEmail: newEmail === undefined ? null : user.email,
    newEmail: newEmail === undefined ? null : maskedAddress(newEmail),
    undo: undo ?? null,
    provider: provider ?? null,
    application: application ?? null,
    device: device ?? null,
    remedy: undo === undefined ? withoutPage(remedy, reviewLink) : 'undo',
    reviewLink,
    resetLink: ownLink(current, forgotPage),
    helpLink: helpLink(current),
  }
  const cause = { share: 'notice', userId: user.id, ipAddress: origin.ipAddress } as const
  // Notices with different undo links are not equal: only the latest link may still work.
  const facts = [newEmail, provider, application, device, undo].map((fact) => fact ?? '')
  // A sign-in from another browser or network is not equal, so its notice is not delayed.
  if (kind === 'new_sign_in') facts.push(data.userAgent ?? '', limitedAddress(origin.ipAddress ?? ''))
  const kindKey = [user.email, kind].join('\0')
  const draft = {
    to: user.email,
    template: 'security-notice',
    language: user.language ?? origin.language,
    data,
  } as const
  await mail.queueNotice(tx, draft, cause, { contentKey: [kindKey, ...facts].join('\0'), kindKey })
}
