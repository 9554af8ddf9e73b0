import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Eta } from 'eta'

/** A rendered template. */
export interface MailContent {
  subject: string
  text: string
  html: string
}

interface Rendering {
  template: string
  /** Directory with templates that replace built-in ones; null for none. */
  directory: string | null
  it: { app: { name: string; url: string }; data: Record<string, unknown> }
}

const builtIn = fileURLToPath(new URL('../templates/mail/', import.meta.url))

const plain = new Eta({ autoEscape: false, autoTrim: false, cache: false })
const escaping = new Eta({ autoEscape: true, autoTrim: false, cache: false })

/** Renders the text and HTML parts. Throws for a broken template or a missing subject. */
export async function renderMail({ template, directory, it }: Rendering): Promise<MailContent> {
  if (!/^[a-z]+(-[a-z]+)*$/.test(template)) throw new Error('Invalid template name.')
  const read = (file: string) => readTemplate(directory, file)
  const written = await rendered(`${template}.txt.eta`, read, plain, it)
  // Only the first line is the subject, so later text cannot add headers.
  const [, subject, text] = /^Subject: *(\S[^\r\n]*)\r?\n(.*)$/s.exec(written) ?? []
  if (subject === undefined || text === undefined) {
    throw new Error(`The mail template ${template}.txt.eta does not begin with a line "Subject: …".`)
  }
  const body = await rendered(`${template}.html.eta`, read, escaping, { ...it, subject })
  const html = await rendered('layout.html.eta', read, escaping, { ...it, subject, body })
  return { subject, text: `${text.trim()}\n`, html }
}

async function rendered(file: string, read: (file: string) => Promise<string>, eta: Eta, it: object): Promise<string> {
  const source = await read(file)
  try {
    return eta.renderString(source, it)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`The mail template ${file} cannot be rendered: ${reason}`, { cause })
  }
}

async function readTemplate(directory: string | null, file: string): Promise<string> {
  if (directory !== null) {
    try {
      return await readFile(join(directory, file), 'utf8')
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    }
  }
  return readFile(join(builtIn, file), 'utf8')
}
