import type { FastifyInstance } from 'fastify'
import type { Clock } from '../clock.ts'
import type { CurrentConfig } from '../config/current.ts'
import type { Config } from '../config/schema.ts'
import { sha256Hex } from '../crypto/hash.ts'
import { randomAlphanumeric } from '../crypto/random.ts'
import type { Tx } from '../database/database.ts'
import type { Dependency } from '../dependencies.ts'
import { type Delivery, UndeliverableError } from '../jobs/job-queue.ts'
import type { Outbox } from '../jobs/outbox.ts'
import { isLanguage } from '../languages/languages.ts'
import type { Counters } from '../limits/counters.ts'
import { tooManyRequests } from '../limits/too-many-requests.ts'
import { MailBudget, type MailCause } from './budget.ts'
import { addressed, oneLine, type Transport } from './message.ts'
import { renderMail } from './templates.ts'
import { openTransport } from './transport.ts'

/** A mail to render and send after the response. */
export interface MailDraft {
  /** One address. */
  to: string
  template:
    | 'unlock-sign-in'
    | 'verify-email'
    | 'reset-password'
    | 'security-notice'
    | 'confirmation-code'
    | 'login-code'
    | 'invitation'
  /** Tag of the language; null for the default. */
  language: string | null
  /** Template data, available as `it.data`. */
  data: Record<string, string | number | null>
  /** Unix milliseconds after which the mail is dropped. */
  expiresAt?: number
}

/** A queued mail: everything that all delivery attempts share. */
interface QueuedMail extends MailDraft {
  id: string
  /** When it was queued, in unix milliseconds. */
  at: number
}

const kind = 'mail'

interface MailParts {
  outbox: Outbox
  clock: Clock
  config: CurrentConfig
  counters: Counters
}

/** Keys that merge notices. */
interface NoticeKeys {
  /** Same for notices with the same content. */
  contentKey: string
  /** Same for notices of one kind to one address. */
  kindKey: string
}

/** Queues mail in the outbox, within the budgets of recipient and cause. */
export class Mail {
  readonly #outbox: Outbox
  readonly #clock: Clock
  readonly #budget: MailBudget

  constructor({ outbox, clock, config, counters }: MailParts) {
    this.#outbox = outbox
    this.#clock = clock
    this.#budget = new MailBudget(config, counters)
  }

  /** Queues a requested mail in the transaction of its cause. Throws 429 when a budget is spent. */
  async queue(tx: Tx, draft: MailDraft, cause: MailCause): Promise<void> {
    const now = this.#clock.now()
    const spent = await this.#budget.spend(tx, draft.to, cause, now)
    if (spent) throw tooManyRequests({ ...spent, now })
    await this.#outbox.add(tx, kind, queued(draft, now), { userId: cause.userId })
  }

  /**
   * Counts a request for a mail before svc looks for the account, so that the budgets do not reveal which addresses have
   * one. Throws 429 when the budget of the source address is spent. Returns whether to send the mail, with
   * `queueReserved`; the response must not depend on it.
   */
  async reserve(tx: Tx, to: string, cause: Pick<MailCause, 'share' | 'ipAddress'>): Promise<boolean> {
    const now = this.#clock.now()
    const { source, isAllowed } = await this.#budget.reserve(tx, to, cause, now)
    if (source) throw tooManyRequests({ ...source, now })
    return isAllowed
  }

  /** Queues a mail that `reserve` counted. */
  async queueReserved(tx: Tx, draft: MailDraft): Promise<void> {
    await this.#outbox.add(tx, kind, queued(draft, this.#clock.now()), { userId: null })
  }

  /**
   * Queues a notice in the transaction of its cause, and never rejects it. If an equal notice was sent recently, the notice
   * waits and merges with equal ones. If a budget is spent, it waits and merges with all notices of its kind to the address,
   * which limits the number of queued mails.
   */
  async queueNotice(tx: Tx, draft: MailDraft, cause: MailCause, { contentKey, kindKey }: NoticeKeys): Promise<void> {
    const now = this.#clock.now()
    const spent = await this.#budget.spendNotice(tx, contentKey, draft.to, cause, now)
    await this.#outbox.add(tx, kind, queued(draft, now), {
      ...(spent ? { at: spent.until, mergeKey: sha256Hex(`${kind}:${spent.isEqual ? contentKey : kindKey}`) } : {}),
      userId: cause.userId,
    })
  }
}

/** Adds the id of the mail, from which all attempts make the Message-ID. It is random to hide the number of mails. */
const queued = (draft: MailDraft, now: number): QueuedMail => ({ id: randomAlphanumeric(24), at: now, ...draft })

/** Sends the mail of the outbox. */
class Postman {
  readonly #clock: Clock
  readonly #config: CurrentConfig
  readonly #openTransport: OpenTransport
  readonly #server: Dependency
  #open: { target: string; transport: Transport } | null = null

  constructor({ outbox, clock, config }: Omit<MailParts, 'counters'>, open: OpenTransport, server: Dependency) {
    this.#openTransport = open
    this.#server = server
    this.#clock = clock
    this.#config = config
    outbox.handle<QueuedMail>(kind, (mail, delivery) => this.#deliver(mail, delivery))
  }

  /** Closes the connections to the mail server. */
  close(): void {
    this.#open?.transport.close()
    this.#open = null
  }

  async #deliver(
    { id, to, template, language, data, at, expiresAt }: QueuedMail,
    { signal, times }: Delivery,
  ): Promise<void> {
    if (expiresAt !== undefined && this.#clock.now() > expiresAt) throw new UndeliverableError('The mail has expired.')
    const config = this.#config.current()
    const { app, mail, templates, i18n, theme } = config
    const facts = Object.entries({ ...data, times }).map(([key, value]) => [
      key,
      typeof value === 'string' ? oneLine(value) : value,
    ])
    const content = renderMail({
      template,
      directory: templates.mail,
      language: isLanguage(language) && i18n.languages.includes(language) ? language : i18n.default,
      settings: { app: { ...app, name: oneLine(app.name) }, i18n, theme },
      data: Object.fromEntries(facts),
    })
    const message = addressed({ id, at, from: mail.from, to, host: new URL(app.url).hostname, ...content })
    try {
      await (await this.#transport(mail)).send(message, signal)
    } catch (error) {
      // A server that rejects one mail works.
      if (error instanceof UndeliverableError) this.#server.worked()
      else if (!signal.aborted) this.#server.failed(error)
      throw error
    }
    this.#server.worked()
  }

  async #transport(mail: Config['mail']): Promise<Transport> {
    const { url, tls, ca_file } = mail
    const { outbound } = this.#config.current()
    const target = JSON.stringify([url, tls, ca_file, outbound.proxy, outbound.no_proxy])
    const transport = this.#open?.target === target ? null : await this.#openTransport(mail, outbound)
    // A concurrent call may have opened the transport meanwhile.
    if (transport && this.#open?.target !== target) {
      this.close()
      this.#open = { target, transport }
    } else transport?.close()
    if (!this.#open) throw new Error('The mail server changed during delivery.')
    return this.#open.transport
  }
}

declare module 'fastify' {
  interface FastifyInstance {
    mail: Mail
  }
}

/** Opens the transport of the sections `mail` and `outbound`. */
export type OpenTransport = (mail: Config['mail'], outbound: Config['outbound']) => Promise<Transport>

/** Adds `app.mail`. */
export function addMail(app: FastifyInstance, open: OpenTransport = openTransport): void {
  const { outbox, clock, config, counters } = app
  app.decorate('mail', new Mail({ outbox, clock, config, counters }))
  const postman = new Postman({ outbox, clock, config }, open, app.dependencies.of('mail'))
  app.addHook('onClose', async () => {
    // Close hooks run last to first, and running jobs use these connections.
    await outbox.close()
    postman.close()
  })
}
