import { randomUUID } from 'node:crypto'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config/schema.ts'
import { forTerminal } from '../observability/terminal.ts'
import { composed, type Transport } from './message.ts'

/** A way to send mail. */
export async function openTransport(mail: Config['mail'], outbound: Config['outbound']): Promise<Transport> {
  const { url } = mail
  if (url === 'log:') return printing
  if (url.startsWith('file:')) return writingTo(url.slice('file:'.length))
  const { smtpTransport } = await import('./smtp.ts')
  return smtpTransport(mail, outbound)
}

/** Prints the readable part of a mail. */
const printing: Transport = {
  send: async ({ from, to, subject, text }) => {
    const lines = [`From: ${from.name} <${from.address}>`, `To: ${to}`, `Subject: ${subject}`, '', text.trimEnd()]
    process.stdout.write(`\n${forTerminal(lines.join('\n')).replace(/^/gm, '  ')}\n\n`)
  },
  close: () => undefined,
}

async function writingTo(directory: string): Promise<Transport> {
  const { createTransport } = await import('nodemailer')
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
  return {
    send: async (message) => {
      const { message: bytes } = await composer.sendMail(composed(message))
      await mkdir(directory, { recursive: true, mode: 0o700 })
      // Written to a temporary file and renamed, so that readers never see a partial mail and a retry replaces the
      // file.
      const draft = join(directory, `.${randomUUID()}.tmp`)
      await writeFile(draft, bytes, { mode: 0o600 })
      await rename(draft, join(directory, `${message.name}.eml`))
    },
    close: () => undefined,
  }
}
