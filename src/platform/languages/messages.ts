import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { IntlMessageFormat } from 'intl-messageformat'
import type { Language } from './languages.ts'
import type english from './messages/en.json'

/** Name of a message. The English catalogue has all of them. */
export type MessageName = keyof typeof english

/** Values of the arguments of a message. */
export type MessageValues = Readonly<Record<string, string | number | Date>>

type Catalogue = Readonly<Record<string, string>>

const catalogues = new Map<Language, Catalogue>()

/** Returns the messages of a language. Reads them on first use. */
export function catalogueOf(language: Language): Catalogue {
  const known = catalogues.get(language)
  if (known) return known
  const file = join(import.meta.dirname, 'messages', `${language}.json`)
  const catalogue: Catalogue = JSON.parse(readFileSync(file, 'utf8'))
  catalogues.set(language, catalogue)
  return catalogue
}

/** Tests for the name of a message. */
export const isMessageName = (name: string): name is MessageName => Object.hasOwn(catalogueOf('en'), name)

const compiled = new Map<Language, Map<string, IntlMessageFormat>>()

/** Fills the arguments of a text in ICU MessageFormat. Throws if the text is invalid or an argument is missing. */
export function formatText(language: Language, text: string, values: MessageValues): string {
  const known = compiled.get(language) ?? new Map<string, IntlMessageFormat>()
  compiled.set(language, known)
  let message = known.get(text)
  if (!message) {
    message = new IntlMessageFormat(text, language, undefined, { ignoreTag: true })
    known.set(text, message)
  }
  return String(message.format(values))
}

/** Returns a message. A language without a translation shows the English one. */
export function formatMessage(language: Language, name: MessageName, values: MessageValues): string {
  const text = catalogueOf(language)[name]
  return text === undefined
    ? formatText('en', catalogueOf('en')[name] ?? name, values)
    : formatText(language, text, values)
}

/** A part of a parsed text: literal text, an argument, or a choice between texts. */
interface Part {
  type: number
  value?: string
  options?: Readonly<Record<string, { value: readonly Part[] }>>
}

const literal = 0
const pound = 7

function collectArguments(parts: readonly Part[], found: Set<string>): Set<string> {
  for (const { type, value, options = {} } of parts) {
    if (type !== literal && type !== pound && value !== undefined) found.add(value)
    for (const option of Object.values(options)) collectArguments(option.value, found)
  }
  return found
}

/** Returns the names of the arguments of a text, sorted. Throws if the text is invalid. */
export function argumentsOf(text: string): string[] {
  const parts: unknown = new IntlMessageFormat(text, 'en', undefined, { ignoreTag: true }).getAst()
  return [...collectArguments(parts as Part[], new Set())].sort()
}

/** Returns what is wrong with a text that replaces a message, or null. */
export function problemOf(name: MessageName, text: string): string | null {
  try {
    const allowed = [...new Set([...argumentsOf(catalogueOf('en')[name] ?? ''), 'app'])]
    const unknown = argumentsOf(text).filter((argument) => !allowed.includes(argument))
    if (unknown.length === 0) return null
    const known = allowed.map((argument) => `{${argument}}`).join(', ')
    return `must not contain ${unknown.map((argument) => `{${argument}}`).join(', ')}; it may contain ${known}`
  } catch (error) {
    return `must be a valid text in ICU MessageFormat (${error instanceof Error ? error.message : String(error)})`
  }
}
