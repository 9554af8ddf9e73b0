import { Templates } from '../templates/templates.ts'

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

const templates = new Templates('mail', { autoTrim: false })

/** Renders the text and HTML parts. Throws for an invalid template or a missing subject. */
export function renderMail({ template, directory, it }: Rendering): MailContent {
  if (!/^[a-z]+(-[a-z]+)*$/.test(template)) throw new Error('Invalid template name.')
  const render = (file: string, data: object) => templates.render(file, data, { directory })
  const written = render(`${template}.txt.eta`, it)
  // Only the first line is the subject, so later text cannot add headers.
  const [, subject, text] = /^Subject: *(\S[^\r\n]*)\r?\n(.*)$/s.exec(written) ?? []
  if (subject === undefined || text === undefined) {
    throw new Error(`The template ${template}.txt.eta does not begin with a line "Subject: …".`)
  }
  const body = render(`${template}.html.eta`, { ...it, subject })
  const html = render('layout.html.eta', { ...it, subject, body })
  return { subject, text: `${text.trim()}\n`, html }
}
