import { recent } from '../cache.ts'

/** Languages that svc has catalogues for, each with its own name. */
export const languageNames = {
  en: 'English',
  de: 'Deutsch',
  fr: 'Français',
  es: 'Español',
  it: 'Italiano',
  'pt-BR': 'Português (Brasil)',
  nl: 'Nederlands',
  pl: 'Polski',
  tr: 'Türkçe',
  ja: '日本語',
  'zh-Hans': '简体中文',
  ar: 'العربية',
} as const

/** Tag of a language (BCP 47). */
export type Language = keyof typeof languageNames

/** Tags of all languages. */
export const languages = Object.keys(languageNames) as Language[]

/** Tests for the tag of a language. */
export const isLanguage = (tag: unknown): tag is Language =>
  typeof tag === 'string' && Object.hasOwn(languageNames, tag)

/** Direction of the script. */
export const directionOf = (language: Language): 'ltr' | 'rtl' => (language === 'ar' ? 'rtl' : 'ltr')

/** Maximum length of a tag in characters. Longer ones count as invalid. */
const maxTag = 64

/** Language and script of a tag, without its region: `zh-CN` is `zh-Hans`, `pt-PT` is `pt-Latn`. Null for an invalid tag. */
const scriptOf = recent(1_000, (tag) => {
  if (tag.length > maxTag) return null
  try {
    const { language, script } = new Intl.Locale(tag).maximize()
    return `${language}-${script}`
  } catch {
    return null
  }
})

const ownScripts = new Map(languages.map((language) => [language, scriptOf(language)]))

const languageOfScript = (script: string): string => script.slice(0, script.indexOf('-'))

/**
 * Returns the first wanted language that is offered, in any region. Without one, returns the first that is offered in
 * another script: a reader of traditional Chinese gets simplified Chinese before `i18n.default`.
 */
export function matchLanguage(wanted: readonly string[], offered: readonly Language[]): Language | null {
  const scripts = wanted.map(scriptOf).filter((script) => script !== null)
  const offeredAs = (matches: (own: string) => boolean) =>
    offered.find((language) => matches(ownScripts.get(language) ?? ''))
  for (const script of scripts) {
    const found = offeredAs((own) => own === script)
    if (found !== undefined) return found
  }
  for (const script of scripts) {
    const found = offeredAs((own) => languageOfScript(own) === languageOfScript(script))
    if (found !== undefined) return found
  }
  return null
}
