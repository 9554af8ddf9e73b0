import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Eta } from 'eta'

/** What a template makes of its data. */
export interface MailContent {
  subject: string
  text: string
  html: string
}

interface Rendering {
  template: string
  /** Whose files replace the built-in ones of the same name; null for none. */
  directory: string | null
  it: { app: { name: string; url: string }; data: Record<string, unknown> }
}

const builtIn = fileURLToPath(new URL('../templates/mail/', import.meta.url))

const plain = new Eta({ autoEscape: false, autoTrim: false, cache: false })
const escaping = new Eta({ autoEscape: true, autoTrim: false, cache: false })

/** Renders the text and the HTML part; fails on a template that is broken or says no subject. */
export async function renderMail({ template, directory, it }: Rendering): Promise<MailContent> {
  if (!/^[a-z]+(-[a-z]+)*$/.test(template)) throw new Error('No template has such a name.')
  const read = (file: string) => readTemplate(directory, file)
  const written = await rendered(`${template}.txt.eta`, read, plain, it)
  // One line, whatever stands in it: what follows can only be text.
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
