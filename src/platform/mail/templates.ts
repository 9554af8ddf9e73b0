import { join } from 'node:path'
import type { Config } from '../config/schema.ts'
import { textsIn } from '../http/texts.ts'
import { translateBrowser } from '../languages/browsers.ts'
import { formatDate } from '../languages/dates.ts'
import { directionOf, type Language } from '../languages/languages.ts'
import { Templates } from '../templates.ts'
import { type MailLogo, mailLogo } from './mail-logo.ts'
import { mailStyle } from './mail-style.ts'

/** A rendered template. */
export interface MailContent {
  subject: string
  text: string
  html: string
  /** The logo, if the mail has it as an attachment. */
  attachment: MailLogo['attachment']
}

interface Rendering {
  template: string
  /** Directory with templates that replace built-in ones; null for none. */
  directory: string | null
  language: Language
  settings: Pick<Config, 'app' | 'i18n' | 'theme'>
  /** Available as `it.data`. */
  data: Record<string, unknown>
}

const templates = new Templates(join(import.meta.dirname, 'templates'), { autoTrim: false })

/** Renders the text and HTML parts. Throws for an invalid template or a missing subject. */
export function renderMail({ template, directory, language, settings, data }: Rendering): MailContent {
  if (!/^[a-z]+(-[a-z]+)*$/.test(template)) throw new Error('Invalid template name.')
  const render = (file: string, values: object) => templates.render(file, values, { directory })
  const { name, url } = settings.app
  const text = textsIn(settings, language)
  const logo = mailLogo(settings)
  const { look, sheet } = mailStyle(settings)
  const it = {
    app: { name, url },
    data,
    text,
    date: (at: string | number) => formatDate(language, at),
    browser: (described: string | null) => translateBrowser(described, text),
    lang: language,
    dir: directionOf(language),
    look,
  }
  const written = render(`${template}.txt.eta`, it)
  // Only the first line is the subject, so later text cannot add headers.
  const [, subject, content] = /^Subject: *(\S[^\r\n]*)\r?\n(.*)$/s.exec(written) ?? []
  if (subject === undefined || content === undefined) {
    throw new Error(`The template ${template}.txt.eta does not begin with a line "Subject: …".`)
  }
  const body = render(`${template}.html.eta`, { ...it, subject })
  const html = render('layout.html.eta', { ...it, subject, body, sheet, logo: logo?.src ?? null })
  const plain = render('layout.txt.eta', { ...it, subject, body: content.trim() })
  return { subject, text: `${plain.trim()}\n`, html, attachment: logo?.attachment ?? null }
}
