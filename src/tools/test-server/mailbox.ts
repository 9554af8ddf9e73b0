import type { Message, Transport } from '../../platform/mail/message.ts'

/** A mail as tests read it. */
interface ReceivedMail {
  to: string
  from: string
  subject: string
  text: string
  html: string
  date: string
}

const maxMails = 1_000

/** Keeps the last mails in memory in place of a mail server. */
export class TestMailbox implements Transport {
  #mails: ReceivedMail[] = []

  async send({ to, from, subject, text, html, date }: Message): Promise<void> {
    const mail = { to, from: from.address, subject, text, html, date: date.toISOString() }
    this.#mails = [...this.#mails, mail].slice(-maxMails)
  }

  close(): void {}

  /** Returns the mails, oldest first. */
  to(address: string | undefined): ReceivedMail[] {
    return this.#mails.filter(({ to }) => address === undefined || to === address)
  }
}
