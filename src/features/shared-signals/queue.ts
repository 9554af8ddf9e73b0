import type { CurrentConfig } from '../../platform/config/current.ts'
import { randomId } from '../../platform/crypto/random.ts'
import type { Tx } from '../../platform/database/database.ts'
import type { EventSubscriber, RecordedEvent } from '../../platform/jobs/event-subscriber.ts'
import type { Outbox } from '../../platform/jobs/outbox.ts'
import { type Stream, signalsOf } from './signals.ts'

/** A token to send. It refers to the event, so that a deleted account leaves no data in it. */
export type SignalJob = {
  /** `jti` of the token, the same for each attempt. */
  id: string
} & ({ event: string; signal: Stream['events'][number] } | { state: string | null })

/** Prefix of the kinds of jobs with signals. */
export const signalKinds = 'signals:'

/** Kind of the jobs of a stream. */
export const kindOf = (stream: string): string => signalKinds + stream

/** When a signal to poll is due, in Unix milliseconds. */
export const never = Date.UTC(9999, 0)

/** Queues the signals about each event for every stream that wants them. */
export class SignalQueue implements EventSubscriber {
  readonly #config: CurrentConfig
  readonly #outbox: Pick<Outbox, 'add'>

  constructor({ config, outbox }: { config: CurrentConfig; outbox: Pick<Outbox, 'add'> }) {
    this.#config = config
    this.#outbox = outbox
  }

  wants({ type, userId }: Omit<RecordedEvent, 'id'>): boolean {
    const streams = Object.values(this.#config.current().shared_signals.streams)
    return userId !== null && streams.some((stream) => signalsOf(type, stream).length > 0)
  }

  async add(tx: Tx, { id, type, userId }: RecordedEvent): Promise<void> {
    if (userId === null) return
    for (const [name, stream] of Object.entries(this.#config.current().shared_signals.streams)) {
      const kind = kindOf(name)
      for (const signal of signalsOf(type, stream)) {
        const job: SignalJob = { id: randomId(), event: id.toString(), signal }
        // A signal to poll is never due, so that it does not slow down the search for work.
        const timing = stream.push ? { orderKey: `${kind}:${userId}` } : { at: never }
        await this.#outbox.add(tx, kind, job, timing)
      }
    }
  }
}
