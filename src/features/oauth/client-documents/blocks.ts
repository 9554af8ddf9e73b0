import { type EventContext, recordEvent } from '../../../identity/events.ts'
import type { Database } from '../../../platform/database/database.ts'
import { isDocumentUrl } from './policy.ts'
import { blockHost, unblockHost } from './store.ts'

/**
 * Returns the host that an administrator names, by itself or by the client_id of one of its clients: in ASCII and lower case,
 * without a port. Null for a text that names none.
 */
export function hostOfText(text: string): string | null {
  const name = text.trim()
  if (isDocumentUrl(name)) return hostOfText(URL.parse(name)?.hostname ?? '')
  const url = URL.parse(`https://${name}/`)
  const isHost =
    url && !name.includes('*') && url.href === `https://${url.host}/` && url.port === '' && url.hostname !== ''
  return isHost ? url.hostname.replace(/\.$/, '') : null
}

/**
 * Blocks a host with its subdomains: svc refuses its clients and stops accepting their tokens. False if it is blocked already.
 */
export const block = (database: Database, origin: EventContext, host: string): Promise<boolean> =>
  database.transaction(async (tx) => {
    const isNew = await blockHost(tx, host, new Date(origin.now))
    if (isNew)
      await recordEvent(tx, origin, { type: 'client_blocked', userId: null, target: `host:${host}`, data: { host } })
    return isNew
  })

/** Ends the block of a host, whose tokens work again unless they have expired. False if it is not blocked. */
export const unblock = (database: Database, origin: EventContext, host: string): Promise<boolean> =>
  database.transaction(async (tx) => {
    const wasBlocked = await unblockHost(tx, host)
    if (wasBlocked) {
      await recordEvent(tx, origin, { type: 'client_unblocked', userId: null, target: `host:${host}`, data: { host } })
    }
    return wasBlocked
  })
