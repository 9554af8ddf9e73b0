/** An event as the receiver gets it. */
export interface ExportedEvent {
  type: string
  isFailure: boolean
  at: Date
  /** One JSON object in ASCII, without line breaks. */
  json: string
}

/** A destination of events. */
export interface Sink {
  /** Returns when the destination has the events. Throws to try all of them again. */
  write(events: readonly ExportedEvent[]): Promise<void>
  close(): void
}

/**
 * Returns JSON in ASCII. Events contain text of clients, such as the user agent, and terminals and log parsers interpret
 * some Unicode characters.
 */
export const asciiJson = (value: object): string =>
  JSON.stringify(value).replace(/[^ -~]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
