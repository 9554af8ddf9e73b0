import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

/** A received mail. */
export interface ReceivedMail {
  /** The recipient of the envelope. */
  to: string
  /** The sender's address in the header. */
  from: string
  subject: string
  text: string
  html: string
  /** By lower-case name. */
  headers: Record<string, string>
  /** Every byte, as text. */
  raw: string
  /** Whether it came over TLS; only from a server. */
  isEncrypted?: boolean
}

/** Overrides for a test server. */
type Behaviour = Pick<
  SMTPServerOptions,
  'onAuth' | 'onMailFrom' | 'onRcptTo' | 'authOptional' | 'hideSTARTTLS' | 'disabledCommands' | 'cert' | 'key'
> & {
  port?: number
  /** Called before a message is accepted; an error rejects it. */
  onMessage?: (mail: ReceivedMail) => Promise<void>
}

/** Parses a message from a file or a connection. */
export async function parseMail(raw: string | Buffer, to: string): Promise<ReceivedMail> {
  const mail: Email = await PostalMime.parse(raw)
  return {
    to,
    from: mail.from?.address ?? '',
    subject: mail.subject ?? '',
    text: mail.text ?? '',
    html: mail.html ?? '',
    headers: Object.fromEntries(mail.headers.map(({ key, value }) => [key, value])),
    raw: raw.toString(),
  }
}

/** A real SMTP server on loopback that stores what it receives. */
export class SmtpReceiver {
  /** All received mails, in the order of their arrival. */
  readonly mails: ReceivedMail[] = []
  port = 0
  readonly #server: SMTPServer

  private constructor({ onMessage, port: _, ...behaviour }: Behaviour) {
    this.#server = new SMTPServer({
      authOptional: true,
      allowInsecureAuth: true,
      hideSTARTTLS: true,
      disableReverseLookup: true,
      logger: false,
      closeTimeout: 100,
      ...behaviour,
      onData: (stream, { envelope, secure }, done) => {
        const chunks: Buffer[] = []
        stream.on('data', (chunk: Buffer) => chunks.push(chunk))
        stream.once('end', async () => {
          try {
            for (const { address } of envelope.rcptTo) {
              const mail = await parseMail(Buffer.concat(chunks), address)
              await onMessage?.(mail)
              this.mails.push({ ...mail, isEncrypted: secure })
            }
            done()
          } catch (error) {
            done(error instanceof Error ? error : new Error(String(error)))
          }
        })
      },
    })
    // A client that disconnects midway does not fail the test.
    this.#server.on('error', () => undefined)
  }

  /** Listens on a free port, or the given one. */
  static async start(behaviour: Behaviour = {}): Promise<SmtpReceiver> {
    const receiver = new SmtpReceiver(behaviour)
    const server = receiver.#server.listen(behaviour.port ?? 0, '127.0.0.1')
    await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject))
    const address = server.address()
    receiver.port = typeof address === 'object' && address !== null ? address.port : 0
    return receiver
  }

  /** The value of `mail.url` for this server. */
  get url(): string {
    return `smtp://127.0.0.1:${this.port}`
  }

  /** Stops listening and closes open connections. */
  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()))
  }
}
