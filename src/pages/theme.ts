import type { Config } from '../config/schema.ts'
import { themeColors } from '../config/theme-colors.ts'
import { defaultTexts, isTextName, type TextName } from './texts.ts'

/** Looks up a text by name and fills its placeholders. */
export type TextLookup = (name: TextName, values?: Readonly<Record<string, string | number>>) => string

/** Texts of one configuration. */
export function textsOf({ app, theme }: Config): TextLookup {
  return (name, values = {}) => {
    const known: Readonly<Record<string, string | number>> = { ...values, app: app.name }
    const text = theme.texts[name] ?? defaultTexts[name]
    return text.replace(/\{(\w+)\}/g, (placeholder, key: string) => String(known[key] ?? placeholder))
  }
}

/** Names in `theme.texts` that no page uses, except those of mails. */
export const unknownTexts = ({ theme }: Config): string[] =>
  Object.keys(theme.texts).filter((name) => !isTextName(name) && !name.startsWith('mail.'))

/** CSS custom properties from `theme.colors`. The configuration check allows only colours. */
export function colorStyle({ theme }: Config): string {
  const declared = (suffix: '' | '-dark'): string => {
    const declarations = themeColors.flatMap((name) => {
      const color = theme.colors[`${name}${suffix}`]
      return color === undefined ? [] : [`--${name}: ${color};`]
    })
    return declarations.length > 0 ? `:root { ${declarations.join(' ')} }` : ''
  }
  const dark = declared('-dark')
  return [declared(''), dark && `@media (prefers-color-scheme: dark) { ${dark} }`].filter(Boolean).join('\n')
}

/** Origin of the logo as a CSP source; null for svc's own origin or an invalid URL. */
export function logoSource({ app, theme }: Config): string | null {
  if (theme.logo === null || !URL.canParse(theme.logo, app.url)) return null
  const { protocol, origin } = new URL(theme.logo, app.url)
  if (protocol === 'data:') return 'data:'
  // A host may contain characters that end a directive.
  return origin !== app.url && /^https?:\/\/[\w.:[\]-]+$/.test(origin) ? origin : null
}
