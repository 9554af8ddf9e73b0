import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import type { Tx } from '../plugins/database/database.ts'

/** The security events that are recorded. */
type EventType =
  | 'login'
  | 'login_failed'
  | 'login_remembered'
  | 'lockout'
  | 'logout'
  | 'token_created'
  | 'token_revoked'
  | 'tokens_revoked'
  | 'user_created'
  | 'user_updated'

/** Where an event came from: a request, or (all null) a command, whose output is its log. */
export interface Origin {
  ipAddress: string | null
  userAgent: string | null
  requestId: string | null
  log: Pick<FastifyBaseLogger, 'info'> | null
  now: number
}

/** The origin of what an administrator does at the command line. */
export const commandOrigin = (now: number): Origin => ({
  ipAddress: null,
  userAgent: null,
  requestId: null,
  log: null,
  now,
})

interface EventFacts {
  type: EventType
  userId: number | null
  /** Never a secret: it is stored and logged. */
  data?: Record<string, string | number | boolean | null>
}

/** The origin of everything this request causes. */
export const originOf = (request: FastifyRequest): Origin => ({
  ipAddress: request.ip,
  userAgent: request.headers['user-agent']?.slice(0, 512) ?? null,
  requestId: request.id,
  log: request.log,
  now: request.server.clock.now(),
})

/** Records a security event: a row in the transaction of its change, and a log line. */
export async function recordEvent(tx: Tx, origin: Origin, { type, userId, data = {} }: EventFacts): Promise<void> {
  await tx.event.create({
    data: {
      type,
      userId: userId === null ? null : BigInt(userId),
      ipAddress: origin.ipAddress,
      userAgent: origin.userAgent,
      requestId: origin.requestId,
      data: JSON.stringify(data),
      createdAt: new Date(origin.now),
    },
  })
  origin.log?.info({ event: type, userId, ...data }, 'security event')
}
