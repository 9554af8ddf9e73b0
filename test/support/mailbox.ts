import type { FastifyInstance } from 'fastify'
import type { ReceivedMail, SmtpReceiver } from './smtp.ts'

/** What arrived of the mails of one app; empty where the test chose another `mail.url`. */
export class Mailbox {
  readonly #app: FastifyInstance
  readonly #receiver: SmtpReceiver | null

  constructor(app: FastifyInstance, receiver: SmtpReceiver | null) {
    this.#app = app
    this.#receiver = receiver
  }

  /** Every mail to the address, oldest first, when all that is due has been sent. */
  async to(address: string): Promise<ReceivedMail[]> {
    return (await this.all()).filter((mail) => mail.to === address)
  }

  /** Every mail, oldest first, when all that is due has been sent. */
  async all(): Promise<ReceivedMail[]> {
    await this.#app.outbox.deliverDue()
    return this.received()
  }

  /** Every mail that arrived so far, oldest first. */
  received(): ReceivedMail[] {
    return [...(this.#receiver?.mails ?? [])]
  }
}
