import type { Tx } from '../database/database.ts'
import type { EventType } from '../event-types.ts'

/** A security event that has just been recorded. */
export interface RecordedEvent {
  id: bigint
  type: EventType
  userId: number | null
}

/** Queues the webhook messages about security events. */
export interface EventSubscriber {
  /** Adds the messages in the transaction of the event. */
  add(tx: Tx, event: RecordedEvent): Promise<void>
}

declare module 'fastify' {
  interface FastifyInstance {
    webhooks: EventSubscriber
  }
}
