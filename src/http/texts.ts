import type { FastifyRequest } from 'fastify'
import type { Config } from '../config/schema.ts'
import type { Language } from '../languages/languages.ts'
import { formatMessage, formatText, type MessageName, type MessageValues } from '../languages/messages.ts'
import { languageOf } from './language.ts'

/** Looks up a text by name and fills its arguments. */
export type TextLookup = (name: MessageName, values?: MessageValues) => string

/** Texts in a language, with those of the operator. `{app}` is `app.name`. */
export const textsIn =
  ({ app, i18n }: Pick<Config, 'app' | 'i18n'>, language: Language): TextLookup =>
  (name, values = {}) => {
    const known = { ...values, app: app.name }
    const own = i18n.messages[language]?.[name]
    return own === undefined ? formatMessage(language, name, known) : formatText(language, own, known)
  }

/** Texts in the language of a request. */
export const textsOf = (request: FastifyRequest): TextLookup =>
  textsIn(request.server.config.current(), languageOf(request))
