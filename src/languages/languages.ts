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

/** Language and script of a tag, without its region: `zh-CN` is `zh-Hans`, `pt-PT` is `pt-Latn`. Null for an invalid tag. */
function scriptOf(tag: string): string | null {
  try {
    const { language, script } = new Intl.Locale(tag).maximize()
    return `${language}-${script}`
  } catch {
    return null
  }
}

const ownScripts = new Map(languages.map((language) => [language, scriptOf(language)]))

/** Returns the first wanted language that is offered, in any region. */
export function matchLanguage(wanted: readonly string[], offered: readonly Language[]): Language | null {
  for (const tag of wanted) {
    const script = scriptOf(tag)
    const found = script === null ? undefined : offered.find((language) => ownScripts.get(language) === script)
    if (found !== undefined) return found
  }
  return null
}
