import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Language, languages } from '../languages/languages.ts'
import { isMessageName, type MessageName } from '../languages/messages.ts'
import type { Path } from './findings.ts'
import type { Config } from './schema.ts'
import { isMapping } from './walk.ts'

type Texts = Readonly<Record<string, string>>

interface Sources {
  default: Language
  directory: string | null
  messages: Readonly<Record<string, Texts>>
}

/** A file of texts, or why it cannot be read. */
interface TextFile {
  file: string
  language: Language
  texts: Texts
  problem: string | null
}

/** Reads the files of `i18n.directory`. Skips languages that have no file. */
export const textFilesIn = (directory: string | null): TextFile[] =>
  directory === null
    ? []
    : languages.flatMap((language) => readTexts(join(directory, `${language}.json`), language) ?? [])

const isTexts = (value: unknown): value is Texts =>
  isMapping(value) && Object.values(value).every((text) => typeof text === 'string')

function readTexts(file: string, language: Language): TextFile | null {
  try {
    const texts: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (isTexts(texts)) return { file, language, texts, problem: null }
    return { file, language, texts: {}, problem: 'must be a JSON object of texts by name' }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    return { file, language, texts: {}, problem: `cannot be read (${error instanceof Error ? error.message : error})` }
  }
}

/** Merges the texts of the operator by language: the files, then `theme.texts`, then `i18n.messages`. */
export function ownMessages(
  { default: first, directory, messages }: Sources,
  themeTexts: Texts,
): Partial<Record<Language, Record<string, string>>> {
  const merged: Partial<Record<Language, Record<string, string>>> = {}
  const add = (language: Language, texts: Texts = {}) => {
    merged[language] = { ...merged[language], ...texts }
  }
  for (const { language, texts } of textFilesIn(directory)) add(language, texts)
  add(first, themeTexts)
  for (const language of languages) add(language, messages[language])
  return merged
}

/** Name of the text that describes a registered scope. */
export const scopeText = (scope: string): string => `scope.${scope}`

/** Tests for the name of a text that svc shows: a built-in one, or the description of a registered scope. */
export function isShownText(name: string, { scopes, apis }: Pick<Config, 'scopes' | 'apis'>): name is MessageName {
  if (isMessageName(name)) return true
  const registered = [...Object.keys(scopes), ...Object.values(apis).flatMap((api) => api.scopes)]
  return registered.some((scope) => name === scopeText(scope))
}

/** A text of the operator, and where it is. */
interface PlacedText {
  path: Path
  place: string
  name: string
  text: string
}

/** Returns every text of `theme.texts` and `i18n`, with its place. */
export function textsWithPaths({
  i18n: { directory, given },
  theme,
}: {
  i18n: { directory: string | null; given: Readonly<Record<string, Texts>> }
  theme: { texts: Texts }
}): PlacedText[] {
  const placed = (texts: Texts, place: string, path: Path, isNamed: boolean): PlacedText[] =>
    Object.entries(texts).map(([name, text]) => ({ path: isNamed ? [...path, name] : path, place, name, text }))
  return [
    ...placed(theme.texts, 'theme.texts', ['theme', 'texts'], true),
    ...Object.entries(given).flatMap(([language, texts]) =>
      placed(texts, `i18n.messages.${language}`, ['i18n', 'messages', language], true),
    ),
    ...textFilesIn(directory).flatMap(({ file, texts }) => placed(texts, file, ['i18n', 'directory'], false)),
  ]
}
