import { createTransport, type NodemailerError } from 'nodemailer'
import { UndeliverableError } from '../jobs/outbox.ts'
import { composed, type Transport } from './message.ts'

/** Sends over a small SMTP pool, with TLS from the start (smtps:) or STARTTLS if offered. */
export function smtpTransport(url: URL): Transport {
  const user = decoded(url.username)
  const pass = decoded(url.password)
  const secrets = [user && `\0${user}\0${pass}`, pass, user].filter(Boolean)
  const pool = createTransport({
    pool: true,
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    secure: url.protocol === 'smtps:',
    ...(url.port && { port: Number(url.port) }),
    ...(user && { auth: { user, pass } }),
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    dnsTimeout: 10_000,
    socketTimeout: 30_000,
    socketCloseTimeout: 1_000,
    idleTimeout: 30_000,
    // The outbox retries: after a broken connection it is unknown whether the server accepted the mail.
    maxRequeues: 0,
  })
  return {
    send: async (message, signal) => {
      try {
        await pool.sendMail({ ...composed(message), signal })
      } catch (error) {
        throw failureOf(error, secrets)
      }
    },
    close: () => pool.close(),
  }
}

/** Converts an SMTP error, with secrets removed in case the server repeats one. */
function failureOf(error: unknown, secrets: string[]): Error {
  if (!(error instanceof Error)) return new Error('The mail was not sent.')
  const forms = secrets.flatMap((text) => [text, encodeURIComponent(text), base64(text)])
  const reason = forms.reduce((text, secret) => text.replaceAll(secret, '…'), error.message)
  return isRefusal(error) ? new UndeliverableError(reason) : new Error(reason)
}

/**
 * Tests for a permanent rejection of the recipient or message (RFC 5321 section 4.2.1): 5xx to RCPT or DATA. Errors
 * about credentials or the sender (53x, RFC 4954 section 6) are retried, because the operator can fix them.
 */
const isRefusal = (error: NodemailerError): boolean =>
  error.permanent === true && /^(RCPT|DATA)\b/.test(error.command ?? '') && !/^53/.test(String(error.responseCode))

const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** Percent-decodes a text; keeps it if invalid. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
