/** The security events that are recorded. */
export const eventTypes = [
  'account_claimed',
  'account_unlocked',
  'admin_read',
  'agent_acted',
  'agent_allowed',
  'agent_ended',
  'browser_distrusted',
  'browser_trusted',
  'client_blocked',
  'client_unblocked',
  'confirmation_code_sent',
  'consent_given',
  'consent_revoked',
  'data_exported',
  'delivery_retried',
  'denied_by_hook',
  'email_change_requested',
  'email_change_undone',
  'email_changed',
  'email_verified',
  'events_followed',
  'group_created',
  'group_deleted',
  'group_member_added',
  'group_member_removed',
  'impersonation_ended',
  'impersonation_started',
  'invitation_revoked',
  'key_rotated',
  'lockout',
  'login',
  'login_code_sent',
  'login_failed',
  'login_remembered',
  'logout',
  'mail_not_sent',
  'passkey_deleted',
  'passkey_failed',
  'passkey_registered',
  'passkey_renamed',
  'password_changed',
  'password_confirmed',
  'password_reset',
  'password_reset_requested',
  'personal_token_created',
  'personal_token_revoked',
  'profile_updated',
  'recovery_code_used',
  'recovery_codes_generated',
  'registered',
  'remember_replayed',
  'session_bound',
  'session_ended',
  'sessions_ended',
  'social_linked',
  'social_login_failed',
  'social_unlinked',
  'stepped_up',
  'terms_accepted',
  'token_created',
  'token_revoked',
  'tokens_revoked',
  'two_factor_challenged',
  'two_factor_confirmed',
  'two_factor_disabled',
  'two_factor_enabled',
  'two_factor_failed',
  'user_created',
  'user_deleted',
  'user_disabled',
  'user_enabled',
  'user_invited',
  'user_updated',
  'verification_sent',
] as const

export type EventType = (typeof eventTypes)[number]

/** Whether the caller succeeded, or svc rejected the attempt. */
export type Outcome = 'success' | 'failure'

const failures: readonly string[] = [
  'denied_by_hook',
  'lockout',
  'login_failed',
  'mail_not_sent',
  'passkey_failed',
  'remember_replayed',
  'social_login_failed',
  'two_factor_failed',
] satisfies EventType[]

/** Successful events of an account that anyone who knows its address can cause. */
const unproven: readonly string[] = ['login_code_sent', 'password_reset_requested'] satisfies EventType[]

/** Events that can repeat as often as their causes like. */
export const repeatableTypes: readonly string[] = [
  'agent_acted',
  'denied_by_hook',
  'events_followed',
  'login_failed',
  'mail_not_sent',
  'passkey_failed',
  'social_login_failed',
] satisfies EventType[]

/** Tests whether equal events share one row. */
export const isRepeatable = (type: string): boolean => repeatableTypes.includes(type)

export const outcomeOf = (type: string): Outcome => (failures.includes(type) ? 'failure' : 'success')

/** Tests whether only the user of the account, or an administrator, can cause the event. */
export const isProven = (type: string): boolean => outcomeOf(type) === 'success' && !unproven.includes(type)

/** Returns the type of the webhook messages about an event, such as `user.password_changed`. */
export const messageType = (event: EventType): string =>
  /^(?:client|group|key)_/.test(event) ? event.replace('_', '.') : `user.${event.replace(/^user_/, '')}`

/**
 * Tests whether an entry of `webhooks[].events` matches an event. The entry is the type of the messages, the name of the
 * event, or the beginning of either and `*`.
 */
export function namesEvent(entry: string, event: EventType): boolean {
  const names = [messageType(event), event]
  return entry.endsWith('*') ? names.some((name) => name.startsWith(entry.slice(0, -1))) : names.includes(entry)
}
