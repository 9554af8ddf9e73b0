import type { FastifyRequest } from 'fastify'
import type { Config } from '../config/schema.ts'
import { directionOf, type Language } from '../languages/languages.ts'
import { formatMessage, formatText, type MessageName, type MessageValues } from '../languages/messages.ts'
import { languageOf } from './language.ts'

/** Looks up a text by name and fills its arguments. */
export type TextLookup = (name: MessageName, values?: MessageValues) => string

/**
 * Wraps values in Unicode isolates, which keep an address or a name in order inside right-to-left text (UAX #9). Numbers
 * are not wrapped, because they can select a plural form.
 */
const isolated = (values: MessageValues): MessageValues =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'string' && !/^\d*$/.test(value) ? `\u2068${value}\u2069` : value,
    ]),
  )

/** Returns the texts in a language, with the operator's overrides. `{app}` is `app.name`. */
export const textsIn =
  ({ app, i18n }: Pick<Config, 'app' | 'i18n'>, language: Language): TextLookup =>
  (name, values = {}) => {
    const all = { ...values, app: app.name }
    const known = directionOf(language) === 'rtl' ? isolated(all) : all
    const own = i18n.messages[language]?.[name]
    return own === undefined ? formatMessage(language, name, known) : formatText(language, own, known)
  }

/** Returns the texts in the language of a request. */
export const textsOf = (request: FastifyRequest): TextLookup =>
  textsIn(request.server.config.current(), languageOf(request))
