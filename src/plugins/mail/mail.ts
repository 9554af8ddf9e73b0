import type { FastifyInstance } from 'fastify'
import type { CurrentConfig } from '../../config/current.ts'
import { randomAlphanumeric } from '../../crypto/random.ts'
import type { Clock } from '../clock.ts'
import type { Tx } from '../database/database.ts'
import { type Delivery, type Outbox, UndeliverableError } from '../outbox.ts'
import { addressed, oneLine } from './message.ts'
import { renderMail } from './templates.ts'
import { openTransport, type Transport } from './transport.ts'

/** A mail as svc means it: rendered and sent after the answer. */
export interface MailDraft {
  /** One address. */
  to: string
  template: 'verify-email' | 'reset-password' | 'security-notice'
  /** What the template shows as `it.data`. */
  data: Record<string, string | number | null>
  /** Unix milliseconds after which nobody needs it any more. */
  expiresAt?: number
}

/** A mail as it waits: what is the same in every attempt to send it. */
interface QueuedMail extends MailDraft {
  id: string
  /** When it was queued, in unix milliseconds. */
  at: number
}

/** Sends mail through the outbox. */
class Mail {
  readonly #outbox: Outbox
  readonly #clock: Clock
  readonly #config: CurrentConfig
  #open: { url: string; transport: Transport } | null = null

  constructor(parts: { outbox: Outbox; clock: Clock; config: CurrentConfig }) {
    this.#outbox = parts.outbox
    this.#clock = parts.clock
    this.#config = parts.config
    this.#outbox.handle<QueuedMail>('mail', (mail, delivery) => this.#deliver(mail, delivery))
  }

  /** Queues a mail in the transaction of its cause; nothing about it can fail but the database. */
  async queue(tx: Tx, draft: MailDraft): Promise<void> {
    // Made once, so that a repetition bears the same Message-ID; random, so that it does not count our mails.
    const mail: QueuedMail = { id: randomAlphanumeric(24), at: this.#clock.now(), ...draft }
    await this.#outbox.add(tx, 'mail', mail)
  }

  /** Closes the connections to the mail server. */
  close(): void {
    this.#open?.transport.close()
    this.#open = null
  }

  async #deliver({ id, to, template, data, at, expiresAt }: QueuedMail, { signal }: Delivery): Promise<void> {
    if (expiresAt !== undefined && this.#clock.now() > expiresAt)
      throw new UndeliverableError('The mail is out of date.')
    const { app, mail, templates } = this.#config.current()
    const facts = Object.entries(data).map(([key, value]) => [key, typeof value === 'string' ? oneLine(value) : value])
    const content = await renderMail({
      template,
      directory: templates.mail,
      it: { app: { name: oneLine(app.name), url: app.url }, data: Object.fromEntries(facts) },
    })
    const message = addressed({ id, at, from: mail.from, to, host: new URL(app.url).hostname, ...content })
    await (await this.#transport(mail.url)).send(message, signal)
  }

  async #transport(url: string): Promise<Transport> {
    const transport = this.#open?.url === url ? null : await openTransport(url)
    // Of two that begin at once the second uses what the first opened.
    if (transport && this.#open?.url !== url) {
      this.close()
      this.#open = { url, transport }
    } else transport?.close()
    if (!this.#open) throw new Error('The mail server was changed meanwhile.')
    return this.#open.transport
  }
}

declare module 'fastify' {
  interface FastifyInstance {
    mail: Mail
  }
}

/** Adds `app.mail`. */
export function addMail(app: FastifyInstance): void {
  const { outbox, clock, config } = app
  app.decorate('mail', new Mail({ outbox, clock, config }))
  app.addHook('onClose', async () => {
    // Hooks of closing run last to first, and what the outbox has under way goes through these connections.
    await outbox.close()
    app.mail.close()
  })
}
