import type { Tx } from '../database/database.ts'
import type { EventType } from '../event-types.ts'

/** A security event that has just been recorded. */
export interface RecordedEvent {
  id: bigint
  type: EventType
  userId: number | null
}

/** Queues messages about security events. */
export interface EventSubscriber {
  /** Tests whether an event would add a message. */
  wants(event: Omit<RecordedEvent, 'id'>): boolean
  /** Adds the messages in the transaction of the event. */
  add(tx: Tx, event: RecordedEvent): Promise<void>
}

/** One subscriber in place of several. */
export const joined = (subscribers: readonly EventSubscriber[]): EventSubscriber => ({
  wants: (event) => subscribers.some((subscriber) => subscriber.wants(event)),
  async add(tx, event) {
    for (const subscriber of subscribers) await subscriber.add(tx, event)
  },
})

declare module 'fastify' {
  interface FastifyInstance {
    subscriber: EventSubscriber
  }
}
