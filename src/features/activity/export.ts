import { listEvents } from '../../identity/event-list.ts'
import { wireDate } from '../../identity/wire-date.ts'
import type { Database } from '../../platform/database/database.ts'

/** Maximum number of events in an export; older ones are left out. */
const maxEvents = 10_000

/** The user's events, newest first. */
export async function exportEvents(database: Database, userId: number) {
  const events = await listEvents(database, userId, { before: null, take: maxEvents })
  return events.map(({ type, ipAddress, userAgent, data, createdAt, times, lastAt }) => ({
    type,
    created_at: wireDate(createdAt),
    ip_address: ipAddress,
    user_agent: userAgent,
    data,
    ...(times > 1 ? { times, last_at: wireDate(lastAt) } : {}),
  }))
}
