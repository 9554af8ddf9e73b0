import type { Database } from '../../src/plugins/database/database.ts'

/** A mail as it waits in the outbox. */
export interface OutgoingMail {
  to: string
  [field: string]: unknown
}

/** Reads what svc means to send: the outbox's rows, in their order. */
export class Mailbox {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Every mail to the address, oldest first. */
  async to(address: string): Promise<OutgoingMail[]> {
    const rows = await this.#database.prisma.outbox.findMany({ where: { kind: 'mail' }, orderBy: { id: 'asc' } })
    return rows.map((row): OutgoingMail => JSON.parse(row.payload)).filter((mail) => mail.to === address)
  }
}
