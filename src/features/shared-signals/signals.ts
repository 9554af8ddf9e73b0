import type { Config } from '../../platform/config/schema.ts'
import type { EventType } from '../../platform/event-types.ts'
import type { Event } from '../../platform/generated/postgresql/client.ts'

export type Stream = Config['shared_signals']['streams'][string]

type SignalName = Stream['events'][number]

const caep = 'https://schemas.openid.net/secevent/caep/event-type'
const risc = 'https://schemas.openid.net/secevent/risc/event-type'

/** Type of the event with which a receiver tests a stream (SSF section 8.1.4.1). */
export const verificationType = 'https://schemas.openid.net/secevent/ssf/event-type/verification'

/** Types of events in tokens, by the names of the configuration. */
export const signalTypes: Readonly<Record<SignalName, string>> = {
  'session-revoked': `${caep}/session-revoked`,
  'credential-change': `${caep}/credential-change`,
  'account-disabled': `${risc}/account-disabled`,
  'account-enabled': `${risc}/account-enabled`,
  'account-purged': `${risc}/account-purged`,
}

interface Signal {
  name: SignalName
  /** Members of the event, besides those about its time and cause. */
  details: Readonly<Record<string, string>>
}

const revoked: Signal = { name: 'session-revoked', details: {} }
const credential = (credential_type: string, change_type: 'create' | 'update' | 'delete'): Signal => ({
  name: 'credential-change',
  details: { credential_type, change_type },
})
const passwordChanged = credential('password', 'update')

/** What each security event means to other services. Most of them also end sessions. */
const signals: Readonly<Partial<Record<EventType, readonly Signal[]>>> = {
  sessions_ended: [revoked],
  // Both take away the access of whoever had it before.
  account_claimed: [credential('password', 'delete'), revoked],
  email_change_undone: [credential('password', 'delete'), revoked],
  password_changed: [passwordChanged, revoked],
  password_reset: [passwordChanged, revoked],
  passkey_registered: [credential('fido2-roaming', 'create')],
  passkey_deleted: [credential('fido2-roaming', 'delete')],
  two_factor_confirmed: [credential('app', 'create'), revoked],
  two_factor_disabled: [credential('app', 'delete')],
  user_disabled: [{ name: 'account-disabled', details: {} }, revoked],
  user_enabled: [{ name: 'account-enabled', details: {} }],
  user_deleted: [{ name: 'account-purged', details: {} }, revoked],
}

/** The signals about an event that a stream carries. */
export const signalsOf = (type: EventType, { events }: Pick<Stream, 'events'>): readonly SignalName[] =>
  (signals[type] ?? []).map(({ name }) => name).filter((name) => events.includes(name))

/** Who began what the event says (CAEP section 2). */
function initiatorOf({ actor, userId }: Pick<Event, 'actor' | 'userId'>): 'user' | 'admin' | 'system' {
  if (actor === null || actor === 'system') return 'system'
  return actor === `user:${userId}` ? 'user' : 'admin'
}

/** The claim `events` of a token (RFC 8417 section 2.2). CAEP events have members about their time and cause. */
export function eventsClaim(name: SignalName, event: Pick<Event, 'type' | 'actor' | 'userId' | 'createdAt'>): object {
  const all = signals[event.type as EventType] ?? []
  const details = all.find((signal) => signal.name === name)?.details ?? {}
  const type = signalTypes[name]
  if (!type.startsWith(caep)) return { [type]: details }
  const cause = {
    event_timestamp: Math.floor(event.createdAt.getTime() / 1000),
    initiating_entity: initiatorOf(event),
  }
  return { [type]: { ...cause, ...details } }
}
