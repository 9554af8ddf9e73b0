import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { isLanguage, type Language, matchLanguage } from '../languages/languages.ts'

/** Cookie with the language that a visitor chose. */
export const languageCookie = 'svc_language'

/**
 * Cookie with the languages of an authorization, `<requested>.<shown>`: the one that its `ui_locales` request, and the one
 * that its pages show. They differ if the visitor chose another one.
 */
export const authorizationCookie = 'svc_ui_locales'

/** Splits `ui_locales` (OpenID Connect Core section 3.1.2.1) or another list of tags. */
export const tagsOf = (list: unknown): string[] =>
  typeof list === 'string' ? list.slice(0, 255).split(/\s+/).filter(Boolean).slice(0, 10) : []

/** Returns the cookies of a request. Parses them on routes without a session. */
const cookiesOf = ({ cookies, cookiePrefixes, headers, server }: FastifyRequest): Record<string, string | undefined> =>
  cookiePrefixes || headers.cookie === undefined ? (cookies ?? {}) : server.cookies.parse(headers.cookie).values

/** Returns the languages in the `ui_locales` parameter of the request's own query. */
const askedInQuery = ({ url }: FastifyRequest): string[] =>
  url.includes('ui_locales=') ? tagsOf(new URLSearchParams(url.split('?')[1]).get('ui_locales')) : []

/**
 * Returns the language of a response: the one that the authorization asks for, the user's choice, the browser's choice,
 * the browser's preference, or the default.
 */
export function languageOf(request: FastifyRequest): Language {
  const { i18n } = request.server.config.current()
  const offered = (tag: unknown): Language | null => (isLanguage(tag) && i18n.languages.includes(tag) ? tag : null)
  const cookies = cookiesOf(request)
  return (
    matchLanguage(askedInQuery(request), i18n.languages) ??
    offered(cookies[authorizationCookie]?.split('.')[1]) ??
    offered(request.caller?.user?.language) ??
    offered(cookies[languageCookie]) ??
    matchLanguage(new Negotiator(request.raw).languages().slice(0, 20), i18n.languages) ??
    i18n.default
  )
}
