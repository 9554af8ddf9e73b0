import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { sha256Hex } from '../platform/crypto/hash.ts'
import type { Database, Tx } from '../platform/database/database.ts'
import { asBigint, asText, asTime, type Sql, sql } from '../platform/database/sql.ts'
import { type EventType, isProven, isRepeatable, outcomeOf } from '../platform/event-types.ts'
import { limitedAddress } from '../platform/http/client-address.ts'
import type { EventSubscriber } from '../platform/jobs/event-subscriber.ts'
import type { Metrics } from '../platform/observability/metrics/metrics.ts'
import { lockUser } from './lock.ts'

/** Origin of an event: a request, a command, or svc itself. */
export interface EventContext {
  /** Administrator who acts on an account, such as `operator:ada`, or `system`; null for the user's own requests. */
  actor: string | null
  /** Authenticated caller, such as `user:5`; null without authentication. */
  caller: string | null
  /** Credential of the request, such as `session:<public id>` or `token:<id>`. */
  credential: string | null
  /** Client of the credential. */
  clientId: string | null
  /** Why the administrator acts. */
  reason: string | null
  ipAddress: string | null
  userAgent: string | null
  requestId: string | null
  /** Language of the request, for its mails. */
  language: string | null
  log: Pick<FastifyBaseLogger, 'info' | 'warn'> | null
  metrics: Metrics | null
  subscriber: EventSubscriber
  now: number
}

/** Origin of changes without a request: by svc itself, or by an operator at the command line. */
export const systemOrigin = ({ now, subscriber }: Pick<EventContext, 'now' | 'subscriber'>): EventContext => ({
  actor: 'system',
  caller: null,
  credential: null,
  clientId: null,
  reason: null,
  ipAddress: null,
  userAgent: null,
  requestId: null,
  language: null,
  log: null,
  metrics: null,
  subscriber,
  now,
})

/** The account as text, for `actor` and `target`. */
export const userRef = (id: number | bigint): string => `user:${id}`

interface EventFacts {
  type: EventType
  userId: number | null
  /** What the event is about, if it is not an account: `key:<kid>`, `invitation:<id>`. */
  target?: string
  /** How the caller authenticated, if the request had no credential before. */
  credential?: string
  /** Why svc rejected the request. */
  reason?: string
  /** Details, which svc stores and logs. Must not contain secrets. */
  data?: Record<string, string | number | boolean | null>
}

/** The part of an origin that a queued job stores, because its work has no request. */
export type RequestOrigin = Pick<EventContext, 'ipAddress' | 'userAgent' | 'requestId' | 'language'>

/** Returns what a queued job stores of a request. */
export const requestOrigin = ({ ipAddress, userAgent, requestId, language }: EventContext): RequestOrigin => ({
  ipAddress,
  userAgent,
  requestId,
  language,
})

/** Returns the origin of events in a queued job. */
export const laterContext = (
  { log, metrics, subscriber, clock }: Pick<FastifyInstance, 'log' | 'metrics' | 'subscriber' | 'clock'>,
  from: RequestOrigin,
): EventContext => ({ ...systemOrigin({ now: clock.now(), subscriber }), actor: null, ...from, log, metrics })

/**
 * Removes personal data from the events of a deleted user: addresses, browsers, credentials, names, and the reasons that
 * administrators wrote. Also clears the events of other accounts that the user caused.
 */
export async function clearEventsOf(tx: Tx, userId: number): Promise<void> {
  const owner = { userId: BigInt(userId) }
  const cleared = { ipAddress: null, userAgent: null, credential: null, reason: null, repeatKey: null }
  await tx.event.updateMany({ where: owner, data: cleared })
  await tx.event.updateMany({ where: { ...owner, data: { contains: '"name":' } }, data: { data: '{}' } })
  const { reason: _, ...origin } = cleared
  await tx.event.updateMany({ where: { actor: userRef(userId) }, data: origin })
}

/** How long repeated failed sign-ins share one row, in milliseconds. */
const repeatWindow = 3_600_000

/** Returns the columns of an event. */
function columnsOf(origin: EventContext, { type, userId, data = {}, ...event }: EventFacts) {
  const { ipAddress, userAgent, requestId, now } = origin
  return {
    type,
    userId: userId === null ? null : BigInt(userId),
    actor: actorOf(origin, type, userId),
    target: event.target ?? null,
    credential: event.credential ?? origin.credential,
    clientId: typeof data.client_id === 'string' ? data.client_id : origin.clientId,
    reason: event.reason ?? origin.reason,
    ipAddress,
    userAgent,
    requestId,
    data: JSON.stringify(data),
    createdAt: new Date(now),
  }
}

/** Writes the log line and the metric of an event. */
function note({ log, metrics }: EventContext, { type, userId, data = {} }: EventFacts, row: Columns): void {
  const { ipAddress, userAgent, actor, target, credential, reason } = row
  // The address comes first, for the filters of fail2ban and CrowdSec: later fields may contain text of the client.
  const who = { ip: ipAddress, outcome: outcomeOf(type), userId, actor, target, credential, reason, userAgent }
  log?.info({ event: type, ...who, ...data }, 'security event')
  metrics?.event(type, data)
}

type Columns = ReturnType<typeof columnsOf>

/**
 * Records a security event: a row in the transaction of its change, a log line and a metric. Equal failed sign-ins
 * within an hour share one row with a count, so that guessing cannot fill the table.
 */
export async function recordEvent(tx: Tx, origin: EventContext, facts: EventFacts): Promise<void> {
  const { subscriber, now } = origin
  const { type, userId } = facts
  const row = columnsOf(origin, facts)
  if (isRepeatable(type)) {
    const { actor, credential, reason, ipAddress, userAgent, requestId, data, createdAt } = row
    const window = Math.floor(now / repeatWindow)
    const key = sha256Hex(JSON.stringify([type, userId, data, reason, ipAddress && limitedAddress(ipAddress), window]))
    const [saved] = await tx.$queryRaw<{ id: bigint | number; repeats: bigint | number }[]>`
      INSERT INTO events
        (type, user_id, actor, credential, reason, ip_address, user_agent, request_id, data, created_at, repeat_key)
      VALUES (${type}, ${row.userId}, ${actor}, ${credential}, ${reason}, ${ipAddress}, ${userAgent}, ${requestId}, ${data},
        ${createdAt}, ${key})
      ON CONFLICT (repeat_key) DO UPDATE SET
        repeats = events.repeats + 1, exported_at = NULL,
        last_at = CASE WHEN coalesce(events.last_at, events.created_at) > excluded.created_at
          THEN coalesce(events.last_at, events.created_at) ELSE excluded.created_at END
      RETURNING id, repeats`
    // Only the first of equal events calls the receivers. Otherwise each guess of an attacker would call them.
    if (saved && Number(saved.repeats) === 0) await subscriber.add(tx, { id: BigInt(saved.id), type, userId })
  } else {
    const { id } = await tx.event.create({ data: row, select: { id: true } })
    await subscriber.add(tx, { id, type, userId })
  }
  note(origin, facts, row)
}

/**
 * Records an event that no subscriber wants, as a part of a statement on PostgreSQL that locks the user in its part
 * `account`. Call `note` after the statement.
 */
export function eventInsertion(origin: EventContext, facts: EventFacts): { insertion: Sql; note(): void } {
  const row = columnsOf(origin, facts)
  return {
    insertion: sql`
      INSERT INTO events (type, user_id, actor, target, credential, client_id, reason, ip_address, user_agent, request_id,
        data, created_at)
      SELECT ${asText(row.type)}, ${asBigint(row.userId)}, ${asText(row.actor)}, ${asText(row.target)},
        ${asText(row.credential)}, ${asText(row.clientId)}, ${asText(row.reason)}, ${asText(row.ipAddress)},
        ${asText(row.userAgent)}, ${asText(row.requestId)}, ${asText(row.data)},
        ${asTime(row.createdAt)} FROM account`,
    note: () => note(origin, facts, row),
  }
}

/** Returns the administrator, the user of the account, or the caller of a rejected request. */
function actorOf({ actor, caller }: EventContext, type: EventType, userId: number | null): string {
  if (actor !== null) return actor
  return userId !== null && isProven(type) ? userRef(userId) : (caller ?? 'anonymous')
}

/** Returns the origin without personal data, for events of deleted accounts. */
export const withoutPerson = (origin: EventContext): EventContext => ({
  ...origin,
  ipAddress: null,
  userAgent: null,
  credential: null,
})

/**
 * Records events in their own transaction, when nothing else changes. Locks the user, so that a concurrent deletion of the
 * account also clears these events. Events of a deleted account contain no address and no browser.
 */
export async function recordEvents(database: Database, origin: EventContext, ...events: EventFacts[]): Promise<void> {
  await database.transaction(async (tx) => {
    for (const event of events) {
      // Runs the same statements for unknown and known users, so that both take the same time.
      const id = event.userId ?? 0
      await lockUser(database, tx, id)
      const isGone = (await tx.user.count({ where: { id: BigInt(id) } })) === 0 && event.userId !== null
      await recordEvent(tx, isGone ? withoutPerson(origin) : origin, event)
    }
  })
}
