// engine: none
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Language, languages } from '../../../src/platform/languages/languages.ts'
import { argumentsOf, catalogueOf, formatText } from '../../../src/platform/languages/messages.ts'
import { root } from '../../support/sources.ts'

const english = catalogueOf('en')
const names = Object.keys(english)

/** The code and the templates that use messages. */
const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.(ts|eta)$/.test(file) && !file.startsWith('platform/generated'))
  .map((file) => readFileSync(join(root, 'src', file), 'utf8'))
  .join('\n')

/** Patterns of names that the code composes, such as `error.${code}`. */
const composed = [...sources.matchAll(/[`'"]((?:[a-z][\w-]*\.)+[\w.-]*|account-)\$\{[^}]+\}([\w.]*)`/g)].map(
  ([, prefix = '', suffix = '']) =>
    new RegExp(`^${prefix.replaceAll('.', '\\.')}[\\w-]+${suffix.replaceAll('.', '\\.')}$`),
)

t.test('has only valid English messages, and uses all of them', async (t) => {
  for (const name of names) {
    t.doesNotThrow(() => argumentsOf(english[name] ?? ''), name)
    // Titles belong to their page. The other test covers messages of the API, which are in English in the code.
    const isImplied = name.endsWith('.title') || /^(api|field)\./.test(name)
    const isUsed = isImplied || ["'", '"', '`'].some((quote) => sources.includes(quote + name + quote))
    t.ok(isUsed || composed.some((pattern) => pattern.test(name)), `${name} is used`)
  }
})

for (const language of languages.filter((tag) => tag !== 'en')) {
  t.test(`has every message in ${language}, with the same arguments`, async (t) => {
    const catalogue = catalogueOf(language)
    const missing = names.filter((name) => catalogue[name] === undefined)
    t.same(missing, [], 'every message has a translation')
    t.same(
      Object.keys(catalogue).filter((name) => english[name] === undefined),
      [],
      'no message is left over',
    )
    for (const [name, text] of Object.entries(catalogue)) {
      if (english[name] === undefined) continue
      t.same(argumentsOf(text), argumentsOf(english[name]), name)
    }
  })
}

/** What a text must not contain once its arguments are filled. */
const mistakes: Partial<Record<Language, RegExp>> = {
  en: /"|\.\.\.| {2}/,
  de: /["”]/,
  fr: /[ \w][:;?!»]|«[ \w]/,
  es: /^[^¿]*\?|^[^¡]*!/,
  ja: /[,;?!]|[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}][.:]/u,
  'zh-Hans': /[,;?!]|\p{sc=Han}[.:]/u,
  ar: /[,;?]/,
}

t.test('has every plural form, and the typography of each language', async (t) => {
  for (const language of languages) {
    const rules = new Intl.PluralRules(language)
    const categories = [...new Set(Array.from({ length: 200 }, (_value, count) => rules.select(count)))]
    const catalogue = Object.entries(catalogueOf(language))
    const incomplete = catalogue.filter(([, text]) =>
      [...text.matchAll(/, plural,(?: \w+ \{[^{}]*\})+/g)].some(([forms]) =>
        categories.some((category) => !forms.includes(` ${category} {`)),
      ),
    )
    t.same(incomplete, [], `plural forms in ${language}`)
    const filled = catalogue.map(([name, text]) => [
      name,
      formatText(language, text, Object.fromEntries(argumentsOf(text).map((argument) => [argument, 5]))),
    ])
    const wrong =
      language === 'en' ? mistakes.en : new RegExp(`"|\\w'\\w|\\.\\.\\.|  |${mistakes[language]?.source ?? '^$'}`, 'u')
    t.same(
      filled.filter(([, text = '']) => wrong?.test(text)),
      [],
      `typography in ${language}`,
    )
  }
})
