import { randomBytes } from 'node:crypto'
import type { CurrentConfig } from '../../platform/config/current.ts'
import { sha256Hex } from '../../platform/crypto/hash.ts'
import type { Tx } from '../../platform/database/database.ts'
import { namesEvent } from '../../platform/event-types.ts'
import type { EventSubscriber, RecordedEvent } from '../../platform/jobs/event-subscriber.ts'
import type { Outbox } from '../../platform/jobs/outbox.ts'

/** A message for one receiver. It refers to the event, so that a deleted account leaves no data in it. */
export interface WebhookJob {
  /** `webhook-id` of the message: the same for all receivers and attempts. */
  id: string
  /** Id of the event. */
  event: string
}

/** Prefix of the kinds of webhook jobs. */
export const webhookKinds = 'webhook:'

/** Kind of the jobs for a receiver. */
export const kindOf = (url: string): string => webhookKinds + sha256Hex(url).slice(0, 16)

/** Queues a message about each event for every receiver that wants it. */
export class WebhookQueue implements EventSubscriber {
  readonly #config: CurrentConfig
  readonly #outbox: Pick<Outbox, 'add'>

  constructor({ config, outbox }: { config: CurrentConfig; outbox: Pick<Outbox, 'add'> }) {
    this.#config = config
    this.#outbox = outbox
  }

  wants({ type }: Pick<RecordedEvent, 'type'>): boolean {
    return this.#receiversOf(type).length > 0
  }

  async add(tx: Tx, { id, type, userId }: RecordedEvent): Promise<void> {
    const wanted = this.#receiversOf(type)
    if (wanted.length === 0) return
    const job: WebhookJob = { id: `msg_${randomBytes(16).toString('base64url')}`, event: id.toString() }
    for (const kind of new Set(wanted.map(({ url }) => kindOf(url)))) {
      await this.#outbox.add(tx, kind, job, userId === null ? {} : { orderKey: `${kind}:${userId}` })
    }
  }

  #receiversOf(type: RecordedEvent['type']) {
    return this.#config.current().webhooks.filter(({ events }) => events.some((name) => namesEvent(name, type)))
  }
}
