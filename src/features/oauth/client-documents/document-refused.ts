interface Refusal {
  /** Configuration key that would change the decision; null if there is none. */
  key?: string | null
  /** Facts for the log. The client does not see them, because they can describe the network of svc. */
  detail?: string
}

/** svc does not accept a client by its metadata document. The message is for the developer of the client. */
export class DocumentRefused extends Error {
  readonly key: string | null
  readonly detail: string

  constructor(message: string, { key = null, detail = message }: Refusal = {}) {
    super(message)
    this.key = key
    this.detail = detail
  }
}

/** Returns the error for a document that is not valid, with the configuration key that would change this. */
export const invalidDocument = (reason: string, key: string | null = null): DocumentRefused =>
  new DocumentRefused(`the metadata document of the client is not valid: ${reason}`, { key })
