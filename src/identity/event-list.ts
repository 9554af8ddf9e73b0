import type { Database } from '../platform/database/database.ts'
import { maxRowId } from '../platform/database/ids.ts'
import { outcomeOf } from '../platform/event-types.ts'
import type { Event as EventRow } from '../platform/generated/postgresql/client.ts'
import { userRef } from './events.ts'

/** A security event. */
export interface ListedEvent {
  id: bigint
  type: string
  userId: number | null
  /** Null for events from before svc recorded it. */
  actor: string | null
  target: string | null
  credential: string | null
  clientId: string | null
  reason: string | null
  requestId: string | null
  ipAddress: string | null
  userAgent: string | null
  data: Readonly<Record<string, unknown>>
  createdAt: Date
  /** How often it happened, and when it last did. */
  times: number
  lastAt: Date
}

/** Position in the list: the last event of the previous page. */
export interface EventCursor {
  at: number
  id: bigint
}

/** Reads the JSON object of an event. */
function dataOf(text: string): Record<string, unknown> {
  try {
    const data: unknown = JSON.parse(text)
    return typeof data === 'object' && data !== null ? { ...data } : {}
  } catch {
    return {}
  }
}

/** Returns a recorded event; null if it was deleted. */
export const findEvent = ({ prisma }: Database, id: bigint): Promise<EventRow | null> =>
  prisma.event.findUnique({ where: { id } })

/** Which events to list; all conditions apply. */
export interface EventFilter {
  type?: string
  userId?: number
  clientId?: string
  since?: Date | undefined
  /** Exclusive. */
  until?: Date | undefined
}

const whereOf = ({ type, userId, clientId, since, until }: EventFilter) => ({
  ...(type === undefined ? {} : { type }),
  ...(userId === undefined ? {} : { userId: BigInt(userId) }),
  ...(clientId === undefined ? {} : { clientId }),
  createdAt: { ...(since ? { gte: since } : {}), ...(until ? { lt: until } : {}) },
})

/** Returns an event from its row. */
export function toEvent({ userId, target, data, repeats, lastAt, ...row }: EventRow): ListedEvent {
  return {
    ...row,
    userId: userId === null ? null : Number(userId),
    target: target ?? (userId === null ? null : userRef(userId)),
    data: dataOf(data),
    times: repeats + 1,
    lastAt: lastAt ?? row.createdAt,
  }
}

/** Returns events before the cursor, newest first. Indexes on user, type and client with the time serve the order. */
export async function searchEvents(
  { prisma }: Database,
  filter: EventFilter,
  { before, take }: { before: EventCursor | null; take: number },
): Promise<ListedEvent[]> {
  const at = before && new Date(before.at)
  const earlier =
    before && at ? { createdAt: { lte: at }, OR: [{ createdAt: { lt: at } }, { id: { lt: before.id } }] } : {}
  const rows = await prisma.event.findMany({
    where: { AND: [whereOf(filter), earlier] },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take,
  })
  return rows.map(toEvent)
}

/** Maximum time between the creation of an event and the commit of its transaction, in milliseconds. */
const maxDelay = 30_000

/** Maximum number of new events per query. */
const maxNew = 1_000

/**
 * Returns a function that returns the events recorded since its last call, oldest first. Transactions do not commit in
 * the order of their events, so it reads the last seconds again and leaves out what it returned before.
 */
export function newEvents(
  { prisma }: Database,
  { since: _, until: __, ...filter }: EventFilter,
  now: number,
): () => Promise<ListedEvent[]> {
  let from = now - maxDelay
  let seen: ReadonlySet<bigint> | null = null
  return async () => {
    const where = whereOf({ ...filter, since: new Date(from) })
    const found: EventRow[] = []
    let rows: EventRow[]
    do {
      const id = { gt: found.at(-1)?.id ?? 0n }
      rows = await prisma.event.findMany({ where: { ...where, id }, orderBy: { id: 'asc' }, take: maxNew })
      found.push(...rows)
    } while (rows.length === maxNew)
    const ids = new Set(found.map(({ id }) => id))
    // The first call returns nothing, and marks the existing events as known.
    const known = seen ?? ids
    seen = ids
    from = Math.max(from, ...found.map(({ createdAt }) => createdAt.getTime() - maxDelay))
    return found.filter(({ id }) => !known.has(id)).map(toEvent)
  }
}

/** The user's events before the cursor, newest first. Leaves out the addresses and browsers of administrators. */
export async function listEvents(
  database: Database,
  userId: number,
  page: { before: EventCursor | null; take: number },
): Promise<ListedEvent[]> {
  const own = userRef(userId)
  return (await searchEvents(database, { userId }, page)).map((event) => {
    const isOwn = event.actor === null || event.actor === own || event.actor === 'anonymous'
    return isOwn || outcomeOf(event.type) === 'failure' ? event : { ...event, ipAddress: null, userAgent: null }
  })
}

/** Text of a cursor in a URL. */
export const cursorText = ({ createdAt, id }: ListedEvent): string => `${createdAt.getTime()}-${id}`

/** Reads a cursor; null for an invalid one. */
export function cursorOf(value: unknown): EventCursor | null {
  const [, at = '', id = ''] = /^(\d{1,15})-(\d{1,19})$/.exec(typeof value === 'string' ? value : '') ?? []
  if (id === '' || BigInt(id) > maxRowId || Number(at) > Date.UTC(9999, 0)) return null
  return { at: Number(at), id: BigInt(id) }
}

/** Maximum number of addresses of failed sign-ins. */
const maxAddresses = 1_000

/** IP addresses from which sign-ins to the account failed since a date, the most recent first. */
export async function failedAddresses({ prisma }: Database, userId: number, since: Date): Promise<string[]> {
  const rows = await prisma.event.findMany({
    where: { userId: BigInt(userId), type: 'login_failed', createdAt: { gte: since }, ipAddress: { not: null } },
    orderBy: { createdAt: 'desc' },
    select: { ipAddress: true },
    take: maxAddresses,
  })
  return [...new Set(rows.flatMap(({ ipAddress }) => ipAddress ?? []))]
}
