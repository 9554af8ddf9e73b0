import type { FastifyInstance } from 'fastify'
import type { ReceivedMail, SmtpReceiver } from './smtp.ts'

/** The received mails of one app; empty if the test chose another `mail.url`. */
export class Mailbox {
  readonly #app: FastifyInstance
  readonly #receiver: SmtpReceiver | null

  constructor(app: FastifyInstance, receiver: SmtpReceiver | null) {
    this.#app = app
    this.#receiver = receiver
  }

  /** Every mail to the address in order of arrival, once all due mails were sent. Those due together arrive in any order. */
  async to(address: string): Promise<ReceivedMail[]> {
    return (await this.all()).filter((mail) => mail.to === address)
  }

  /** The group of a pattern in the last mail to the address that has it, once all due mails were sent. */
  async find(address: string, pattern: RegExp): Promise<string> {
    const found = (await this.to(address)).flatMap(({ text }) => pattern.exec(text)?.[1] ?? [])
    return found.at(-1) ?? ''
  }

  /** Every mail in order of arrival, once all due mails were sent. */
  async all(): Promise<ReceivedMail[]> {
    await this.#app.outbox.deliverDue()
    return this.received()
  }

  /** Every mail that arrived so far, in order. */
  received(): ReceivedMail[] {
    return [...(this.#receiver?.mails ?? [])]
  }
}
