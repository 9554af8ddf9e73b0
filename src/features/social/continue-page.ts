import { pageAnswers } from '../../pages/pages.ts'
import type { TextName } from '../../pages/texts.ts'
import type { SocialProvider } from './provider.ts'

/** Response of a form that leads to a provider, for the API description. */
export const continuing = {
  description: 'A page that continues to the provider.',
  content: pageAnswers.page.content,
  headers: { Refresh: { type: 'string', description: 'The URL of the provider.' } },
}

interface Continuation {
  provider: SocialProvider
  /** URL of the provider. */
  href: string
  hint: TextName
}

/**
 * Returns the header and the data of a page that continues to the provider. svc cannot redirect there, because browsers
 * apply `form-action` to the redirects of a form.
 */
export function continuation(
  text: (name: TextName, values?: Record<string, string>) => string,
  { provider, href, hint }: Continuation,
) {
  const title = text('account-providers.continue', { provider: provider.label })
  return { refresh: `0; url=${href}`, data: { title, message: text(hint), link: { href, label: title } } }
}
