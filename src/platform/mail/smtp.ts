import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { createTransport, type NodemailerError } from 'nodemailer'
import httpProxyClient from 'nodemailer/lib/smtp-connection/http-proxy-client.js'
import SMTPConnection from 'nodemailer/lib/smtp-connection/index.js'
import type { Config } from '../config/schema.ts'
import { certificateHint } from '../crypto/tls-errors.ts'
import { proxyFor } from '../http/egress.ts'
import { UndeliverableError } from '../jobs/job-queue.ts'
import { composed, type Transport } from './message.ts'

/** Timeouts, in milliseconds. */
const timeouts = { connectionTimeout: 10_000, greetingTimeout: 10_000, dnsTimeout: 10_000, socketTimeout: 30_000 }

/** The mail server and its TLS. */
type Relay = Pick<Config['mail'], 'url' | 'tls' | 'ca_file'>

/** The configured server, and every form of a secret that an error message could repeat. */
function serverOf({ url: text, tls, ca_file }: Relay) {
  const url = new URL(text)
  const user = decoded(url.username)
  const pass = decoded(url.password)
  const server = {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    secure: url.protocol === 'smtps:',
    requireTLS: tls === 'required',
    ignoreTLS: tls === 'none',
    ...(ca_file !== null && { tls: { ca: readFileSync(ca_file, 'utf8') } }),
    // The ports of submission, with TLS from the start (RFC 8314 section 3.3) and with STARTTLS (RFC 6409).
    port: Number(url.port || (url.protocol === 'smtps:' ? 465 : 587)),
    ...(user && { auth: { user, pass } }),
    ...timeouts,
  }
  return { server, secrets: [user && `\0${user}\0${pass}`, pass, user].filter(Boolean) }
}

/** Connects and authenticates without sending a mail. Rejects without repeating a secret. */
export async function verifySmtp(
  relay: Relay,
  outbound: Config['outbound'],
): Promise<{ isEncrypted: boolean; isAuthenticated: boolean }> {
  const { server, secrets } = serverOf(relay)
  const proxy = proxyFor(outbound, server.host, String(server.port))
  const tunnel = proxy === null ? {} : { connection: await openTunnel(proxy, server.port, server.host) }
  const connection = new SMTPConnection({ ...server, ...tunnel })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  connection.on('error', reject)
  connection.connect((error?: Error | null) => {
    if (error) return reject(error)
    if (!server.auth) return resolve()
    connection.login({ credentials: server.auth }, (refusal?: Error | null) => (refusal ? reject(refusal) : resolve()))
  })
  try {
    await promise
    return { isEncrypted: connection.secure, isAuthenticated: server.auth !== undefined }
  } catch (error) {
    throw failureOf(error, secrets)
  } finally {
    connection.quit()
    connection.close()
  }
}

const openTunnel = (proxy: string, port: number, host: string) =>
  new Promise<Socket>((resolve, reject) => {
    httpProxyClient(proxy, port, host, { timeout: timeouts.connectionTimeout }, (error, socket) =>
      socket ? resolve(socket) : reject(error ?? new Error('the proxy did not connect')),
    )
  })

/** Sends over a small SMTP pool, with TLS from the start (smtps:) or STARTTLS as `mail.tls` says. */
export function smtpTransport(relay: Relay, outbound: Config['outbound']): Transport {
  const { server, secrets } = serverOf(relay)
  const proxy = proxyFor(outbound, server.host, String(server.port))
  const pool = createTransport({
    ...server,
    ...(proxy !== null && { proxy }),
    pool: true,
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
  const hint = certificateHint(error, 'mail.ca_file')
  const message = hint ? `${error.message}. ${hint}` : error.message
  const reason = forms.reduce((text, secret) => text.replaceAll(secret, '…'), message)
  // The server did not offer STARTTLS, or an attacker removed the offer.
  if ('command' in error && error.command === 'STARTTLS')
    return new Error(
      'The mail server does not offer STARTTLS. Use smtps: in mail.url if it uses TLS from the start, or set mail.tls to opportunistic to send in clear text',
    )
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
