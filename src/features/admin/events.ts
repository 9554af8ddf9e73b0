import { cursorText, type ListedEvent } from '../../identity/event-list.ts'
import { wireDate } from '../../identity/wire-date.ts'
import { outcomeOf } from '../../platform/event-types.ts'

/** An event as commands, exports and the admin API show it. */
export const eventRecord = (event: ListedEvent) => ({
  id: String(event.id),
  created_at: wireDate(event.createdAt),
  type: event.type,
  outcome: outcomeOf(event.type),
  actor: event.actor,
  target: event.target,
  user_id: event.userId,
  client_id: event.clientId,
  credential: event.credential,
  reason: event.reason,
  ip_address: event.ipAddress,
  user_agent: event.userAgent,
  request_id: event.requestId,
  data: event.data,
  ...(event.times > 1 ? { times: event.times, last_at: wireDate(event.lastAt) } : {}),
  cursor: cursorText(event),
})
