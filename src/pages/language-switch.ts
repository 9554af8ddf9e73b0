import type { FastifyRequest } from 'fastify'
import { directionOf, type Language, languageNames } from '../platform/languages/languages.ts'
import { withReturn } from './continuation.ts'

/** Address of the form that chooses a language. */
export const languagePath = '/oauth/language'

/** The language switch below a page. */
interface LanguageSwitch {
  action: string
  /** The current page. */
  returnTo: string
  current: string
  choices: readonly { tag: Language; name: string; dir: 'ltr' | 'rtl'; isCurrent: boolean }[]
}

/**
 * Returns the language switch of a page. Returns null if there is only one language, if no session protects the form, or if
 * no address shows the page again.
 */
export function languageSwitch(request: FastifyRequest, language: Language, data: object): LanguageSwitch | null {
  const { languages } = request.server.config.current().i18n
  const returnTo = addressOf(request, data)
  if (languages.length < 2 || !request.session || returnTo === null) return null
  return {
    action: languagePath,
    returnTo,
    current: languageNames[language],
    choices: languages.map((tag) => ({
      tag,
      name: languageNames[tag],
      dir: directionOf(tag),
      isCurrent: tag === language,
    })),
  }
}

/** Returns the address that shows the page again. After a form was sent, this is the empty form with the same destination. */
function addressOf({ method, url }: FastifyRequest, data: object): string | null {
  if (method === 'GET') return withoutAskedLanguage(url)
  if (!('returnTo' in data)) return null
  return withReturn(url.split('?')[0] ?? '/', typeof data.returnTo === 'string' ? data.returnTo : null)
}

/** Removes `ui_locales` from an address, so that it does not override the chosen language. */
function withoutAskedLanguage(url: string): string {
  if (!url.includes('ui_locales=')) return url
  const [path = '/', search] = url.split('?')
  const query = new URLSearchParams(search)
  query.delete('ui_locales')
  return query.size === 0 ? path : `${path}?${query}`
}
