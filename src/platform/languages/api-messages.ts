import { catalogueOf, isMessageName, type MessageName, type MessageValues } from './messages.ts'

type Lookup = (name: MessageName, values?: MessageValues) => string

/** An English message with its arguments as groups of a pattern. */
interface Pattern {
  name: MessageName
  pattern: RegExp
}

let patterns: readonly Pattern[] | undefined
let whole: ReadonlyMap<string, MessageName> | undefined

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')

/** Messages of the API by their English text. Errors contain these texts, because programs compare them. */
function knownMessages(): { whole: ReadonlyMap<string, MessageName>; patterns: readonly Pattern[] } {
  if (whole && patterns) return { whole, patterns }
  const named = Object.entries(catalogueOf('en')).filter(([name]) => name.startsWith('api.'))
  const isPlain = (text: string) => !text.includes('{')
  whole = new Map(named.flatMap(([name, text]) => (isPlain(text) && isMessageName(name) ? [[text, name]] : [])))
  patterns = named.flatMap(([name, text]) => {
    if (isPlain(text) || text.includes('plural') || !isMessageName(name)) return []
    const source = text
      .split(/(\{\w+\})/)
      .map((part) =>
        /^\{\w+\}$/.test(part)
          ? part === '{domains}'
            ? '(?<domains>.+)'
            : `(?<${part.slice(1, -1)}>.+?)`
          : escaped(part),
      )
    return [{ name, pattern: new RegExp(`^${source.join('')}$`) }]
  })
  return { whole, patterns }
}

/** Arguments as they are in English. Names of fields are translated, and digits become numbers. */
const valuesOf = (groups: Readonly<Record<string, string>>, text: Lookup): MessageValues =>
  Object.fromEntries(
    Object.entries(groups).map(([key, value]) => {
      const field = `field.${value.replaceAll(' ', '_')}`
      if (key === 'field' && isMessageName(field)) return [key, text(field)]
      return [key, /^\d+$/.test(value) ? Number(value) : value]
    }),
  )

/** Translates a message of the API. Returns unknown messages unchanged. */
export function translateMessage(message: string, text: Lookup): string {
  const known = knownMessages()
  const name = known.whole.get(message)
  if (name !== undefined) return text(name)
  const [, first, count] = /^(.+) \(and (\d+) more errors?\)$/s.exec(message) ?? []
  if (first !== undefined) return text('api.and_more', { message: translateMessage(first, text), count: Number(count) })
  for (const { name, pattern } of known.patterns) {
    const groups = pattern.exec(message)?.groups
    if (groups) return text(name, valuesOf(groups, text))
  }
  return message
}

/** Translates the messages of fields. */
export const translateErrors = (
  errors: Readonly<Record<string, readonly string[]>>,
  text: Lookup,
): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(errors).map(([field, messages]) => [
      field,
      messages.map((message) => translateMessage(message, text)),
    ]),
  )
