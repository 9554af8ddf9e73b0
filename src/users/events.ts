import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { sha256Hex } from '../crypto/hash.ts'
import type { Database, Tx } from '../database/database.ts'
import { clientAddress, limitedAddress } from '../http/client-address.ts'
import type { Metrics } from '../observability/metrics/metrics.ts'
import { lockUser } from './lock.ts'

/** The security events that are recorded. */
type EventType =
  | 'account_claimed'
  | 'account_unlocked'
  | 'confirmation_code_sent'
  | 'consent_given'
  | 'consent_revoked'
  | 'email_change_requested'
  | 'email_change_undone'
  | 'email_changed'
  | 'email_verified'
  | 'key_rotated'
  | 'lockout'
  | 'login'
  | 'login_failed'
  | 'login_remembered'
  | 'logout'
  | 'passkey_deleted'
  | 'passkey_failed'
  | 'passkey_registered'
  | 'passkey_renamed'
  | 'password_changed'
  | 'password_confirmed'
  | 'password_reset'
  | 'password_reset_requested'
  | 'personal_token_created'
  | 'personal_token_revoked'
  | 'profile_updated'
  | 'recovery_code_used'
  | 'recovery_codes_generated'
  | 'registered'
  | 'remember_replayed'
  | 'session_ended'
  | 'sessions_ended'
  | 'social_linked'
  | 'social_login_failed'
  | 'social_unlinked'
  | 'stepped_up'
  | 'token_created'
  | 'token_revoked'
  | 'tokens_revoked'
  | 'two_factor_challenged'
  | 'two_factor_confirmed'
  | 'two_factor_disabled'
  | 'two_factor_enabled'
  | 'two_factor_failed'
  | 'user_created'
  | 'user_deleted'
  | 'user_updated'
  | 'verification_sent'

/** Origin of an event: a request, or a command (all null), which logs its output. */
export interface EventContext {
  ipAddress: string | null
  userAgent: string | null
  requestId: string | null
  log: Pick<FastifyBaseLogger, 'info'> | null
  metrics: Metrics | null
  now: number
}

/** Origin of changes at the command line. */
export const commandOrigin = (now: number): EventContext => ({
  ipAddress: null,
  userAgent: null,
  requestId: null,
  log: null,
  metrics: null,
  now,
})

interface EventFacts {
  type: EventType
  userId: number | null
  /** Never a secret: it is stored and logged. */
  data?: Record<string, string | number | boolean | null>
}

/** Returns the origin of events that this request causes. */
export const eventContext = (request: FastifyRequest): EventContext => ({
  ipAddress: clientAddress(request),
  userAgent: request.headers['user-agent']?.slice(0, 512) ?? null,
  requestId: request.id,
  log: request.log,
  metrics: request.server.metrics,
  now: request.server.clock.now(),
})

/** Removes personal data (addresses, browsers, names) from the events of a deleted user. */
export async function clearEventsOf(tx: Tx, userId: number): Promise<void> {
  const owner = { userId: BigInt(userId) }
  await tx.event.updateMany({ where: owner, data: { ipAddress: null, userAgent: null, repeatKey: null } })
  await tx.event.updateMany({ where: { ...owner, data: { contains: '"name":' } }, data: { data: '{}' } })
}

/** How long repeated failed sign-ins share one row, in milliseconds. */
const repeatWindow = 3_600_000

/**
 * Records a security event: a row in the transaction of its change, a log line and a metric. Equal failed sign-ins
 * within an hour share one row with a count, so that guessing cannot fill the table.
 */
export async function recordEvent(
  tx: Tx,
  origin: EventContext,
  { type, userId, data = {} }: EventFacts,
): Promise<void> {
  const { ipAddress, userAgent, requestId, log, metrics, now } = origin
  const owner = userId === null ? null : BigInt(userId)
  const facts = JSON.stringify(data)
  const at = new Date(now)
  if (type === 'login_failed') {
    const window = Math.floor(now / repeatWindow)
    const key = sha256Hex(JSON.stringify([type, userId, facts, ipAddress && limitedAddress(ipAddress), window]))
    await tx.$executeRaw`
      INSERT INTO events (type, user_id, ip_address, user_agent, request_id, data, created_at, repeat_key)
      VALUES (${type}, ${owner}, ${ipAddress}, ${userAgent}, ${requestId}, ${facts}, ${at}, ${key})
      ON CONFLICT (repeat_key) DO UPDATE SET repeats = events.repeats + 1, last_at = excluded.created_at`
  } else {
    await tx.event.create({
      data: { type, userId: owner, ipAddress, userAgent, requestId, data: facts, createdAt: at },
    })
  }
  log?.info({ event: type, userId, ip: ipAddress, ...data }, 'security event')
  metrics?.event(type, data)
}

/**
 * Records events without another change, in a separate transaction. Locks the user, so that deleting the account clears
 * them. For a deleted account, they contain no address or browser.
 */
export async function recordEvents(database: Database, origin: EventContext, ...events: EventFacts[]): Promise<void> {
  await database.transaction(async (tx) => {
    for (const event of events) {
      // Runs the same statements for unknown and known users.
      const id = event.userId ?? 0
      await lockUser(database, tx, id)
      const isGone = (await tx.user.count({ where: { id: BigInt(id) } })) === 0 && event.userId !== null
      await recordEvent(tx, isGone ? { ...origin, ipAddress: null, userAgent: null } : origin, event)
    }
  })
}
