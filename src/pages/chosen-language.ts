import type { FastifyReply, FastifyRequest } from 'fastify'
import { authorizationCookie, languageCookie, tagsOf } from '../platform/http/language.ts'
import { type Language, matchLanguage } from '../platform/languages/languages.ts'

const year = { maxAge: 365 * 24 * 3600, sameSite: 'lax' } as const

/** An authorization expires after an hour. */
const hour = { maxAge: 3600, sameSite: 'lax' } as const

/** Keeps the language that a visitor chose. It also replaces the language that the current authorization asks for. */
export function keepChosenLanguage(request: FastifyRequest, reply: FastifyReply, chosen: Language): void {
  const { cookies } = request.server
  cookies.set(request, reply, languageCookie, chosen, year)
  const asked = request.cookies[authorizationCookie]?.split('.')[0]
  if (asked) cookies.set(request, reply, authorizationCookie, `${asked}.${chosen}`, hour)
}

/** Keeps the language of `ui_locales` for the pages of the authorization, until the visitor chooses another one. */
export function keepAskedLanguage(request: FastifyRequest, reply: FastifyReply, uiLocales: unknown): void {
  const { cookies, config } = request.server
  const asked = matchLanguage(tagsOf(uiLocales), config.current().i18n.languages)
  const known = request.cookies[authorizationCookie]
  if (asked !== null && known?.split('.')[0] !== asked) {
    const value = `${asked}.${asked}`
    cookies.set(request, reply, authorizationCookie, value, hour)
    request.cookies[authorizationCookie] = value
  } else if (asked === null && known !== undefined) {
    cookies.clear(request, reply, authorizationCookie)
    delete request.cookies[authorizationCookie]
  }
}
