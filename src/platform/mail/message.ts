import type { SendMailOptions } from 'nodemailer'
import { isEmail } from '../http/formats.ts'
import { UndeliverableError } from '../jobs/job-queue.ts'
import type { MailContent } from './templates.ts'

interface Mailbox {
  name: string
  address: string
}

/** A complete mail for any transport. */
export interface Message extends MailContent {
  from: Mailbox
  to: string
  /** Including angle brackets. */
  messageId: string
  date: Date
  /** File name; the same for each attempt. */
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
  /** Date of the mail, in Unix milliseconds. */
  at: number
  from: string
  to: string
  host: string
}

/** Replaces line breaks and other control characters, which headers must not contain (RFC 5322 section 2.2), by spaces. */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()

/** Adds the headers to a rendered mail. Throws for an invalid address. */
export function addressed({ id, at, from, to, host, subject, ...content }: Parts): Message {
  if (!isEmail(to)) throw new UndeliverableError('Invalid email address.')
  return {
    from: mailboxOf(from),
    to,
    subject: oneLine(subject),
    ...content,
    messageId: `<${id}@${host}>`,
    date: new Date(at),
    name: `${new Date(at).toISOString().replace(/[:.]/g, '-')}-${id}`,
  }
}

/** Converts the message for nodemailer; nothing in it is parsed as an address list, path or URL. */
export const composed = ({ from, to, subject, text, html, attachment, messageId, date }: Message): SendMailOptions => ({
  from,
  to: { name: '', address: to },
  envelope: { from: from.address, to: [to] },
  subject,
  text,
  html,
  ...(attachment && { attachments: [{ ...attachment, contentDisposition: 'inline' }] }),
  messageId,
  date,
  // RFC 3834: suppresses automatic replies.
  headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
  disableFileAccess: true,
  disableUrlAccess: true,
})

/** Parses `svc <no-reply@example.com>` or a bare address. */
function mailboxOf(text: string): Mailbox {
  const [, name = '', address = text] = /^(.*)<([^<>]+)>$/su.exec(text) ?? []
  return { name: oneLine(name).replace(/^"(.*)"$/u, '$1'), address: oneLine(address) }
}
