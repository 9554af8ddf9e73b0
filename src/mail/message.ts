import type { SendMailOptions } from 'nodemailer'
import { isEmail } from '../http/formats.ts'
import { UndeliverableError } from '../jobs/outbox.ts'
import type { MailContent } from './templates.ts'

interface Mailbox {
  name: string
  address: string
}

/** A mail in full, ready for any transport. */
export interface Message extends MailContent {
  from: Mailbox
  to: string
  /** With its angle brackets. */
  messageId: string
  date: Date
  /** The same at each attempt: what the file of it is called. */
  name: string
}

/** Delivers mail. */
export interface Transport {
  /** Sends a message or throws. An aborted signal ends the attempt. */
  send(message: Message, signal: AbortSignal): Promise<void>
  close(): void
}

interface Parts extends MailContent {
  id: string
  /** When it was queued, in unix milliseconds. */
  at: number
  from: string
  to: string
  host: string
}

/** The text without line breaks and other control characters, which have no place in a header (RFC 5322 section 2.2). */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()

/** Puts the headers to a rendered mail; an address that is none can never be sent to. */
export function addressed({ id, at, from, to, host, subject, text, html }: Parts): Message {
  if (!isEmail(to)) throw new UndeliverableError('The address is none.')
  return {
    from: mailboxOf(from),
    to,
    subject: oneLine(subject),
    text,
    html,
    messageId: `<${id}@${host}>`,
    date: new Date(at),
    name: `${new Date(at).toISOString().replace(/[:.]/g, '-')}-${id}`,
  }
}

/** The message as nodemailer takes it; nothing in it is read as a list of addresses, a path or a URL. */
export const composed = ({ from, to, subject, text, html, messageId, date }: Message): SendMailOptions => ({
  from,
  to: { name: '', address: to },
  envelope: { from: from.address, to: [to] },
  subject,
  text,
  html,
  messageId,
  date,
  // RFC 3834: out-of-office notices are not sent in answer to these.
  headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
  disableFileAccess: true,
  disableUrlAccess: true,
})

/** Reads `svc <no-reply@example.com>`, or a bare address. */
function mailboxOf(text: string): Mailbox {
  const [, name = '', address = text] = /^(.*)<([^<>]+)>$/su.exec(text) ?? []
  return { name: oneLine(name).replace(/^"(.*)"$/u, '$1'), address: oneLine(address) }
}
