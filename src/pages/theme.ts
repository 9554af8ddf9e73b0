import type { Config } from '../platform/config/schema.ts'
import { themeColors } from '../platform/config/theme-colors.ts'

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
  const url = URL.parse(theme.logo ?? '', app.url)
  return theme.logo === null || url === null || url.origin === app.url ? null : imageSource(url.href)
}

/** Origin of an image as a CSP source; null for an invalid URL. */
export function imageSource(uri: string): string | null {
  const url = URL.parse(uri)
  if (url?.protocol === 'data:') return 'data:'
  // A host may contain characters that would end a directive of the policy.
  return url !== null && /^https?:\/\/[\w.:[\]-]+$/.test(url.origin) ? url.origin : null
}
