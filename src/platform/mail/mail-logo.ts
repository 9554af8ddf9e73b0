import type { Config } from '../config/schema.ts'

/** An image that is attached to a mail. */
interface Attachment {
  cid: string
  contentType: string
  content: Buffer
}

/** The logo of a mail. */
export interface MailLogo {
  /** Absolute URL, or the Content-ID of the attachment. */
  src: string
  attachment: Attachment | null
}

/**
 * Returns the logo of the theme for mails, or null for the name of the application instead. Mail programs load images
 * only from absolute URLs, block `data:` URLs, and do not show SVG.
 */
export function mailLogo({ app, theme }: Pick<Config, 'app' | 'theme'>): MailLogo | null {
  if (theme.logo === null || !URL.canParse(theme.logo, app.url)) return null
  const { protocol, pathname, href } = new URL(theme.logo, app.url)
  if (protocol === 'data:') {
    const [, contentType = '', data = ''] = /^(image\/(?:png|jpeg|gif));base64,([\w+/=]+)$/.exec(pathname) ?? []
    if (data === '') return null
    const cid = `logo@${new URL(app.url).hostname}`
    return { src: `cid:${cid}`, attachment: { cid, contentType, content: Buffer.from(data, 'base64') } }
  }
  if (!/^https?:$/.test(protocol) || pathname.toLowerCase().endsWith('.svg')) return null
  return { src: href, attachment: null }
}
