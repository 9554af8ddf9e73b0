import type { Config } from '../config/schema.ts'
import { defaultColors, type ThemeColor } from '../config/theme-colors.ts'

/** The style of a part of a mail, and its colours from the theme. */
interface Look {
  style: string
  colors: Readonly<Partial<Record<'background-color' | 'border-color' | 'color', ThemeColor>>>
}

const font = "font-family: system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"

const looks = {
  page: { style: 'margin: 0; padding: 0', colors: { 'background-color': 'background', color: 'text' } },
  brand: { style: `padding: 0 8px 16px; ${font}; font-size: 18px; font-weight: bold`, colors: { color: 'text' } },
  card: {
    style: `padding: 32px; border: 1px solid; border-radius: 8px; ${font}; font-size: 16px; line-height: 1.5; overflow-wrap: anywhere`,
    colors: { 'background-color': 'surface', 'border-color': 'border', color: 'text' },
  },
  heading: { style: 'margin: 0 0 16px; font-size: 20px; line-height: 1.3', colors: { color: 'text' } },
  text: { style: 'margin: 0 0 16px', colors: { color: 'text' } },
  code: {
    style: 'margin: 0 0 24px; font-family: monospace; font-size: 28px; letter-spacing: 4px',
    colors: { color: 'text' },
  },
  button: {
    style:
      'display: inline-block; padding: 12px 24px; border: 1px solid; border-radius: 6px; font-weight: bold; text-decoration: none',
    colors: { 'background-color': 'accent', 'border-color': 'accent', color: 'accent-text' },
  },
  small: { style: 'margin: 0 0 8px; font-size: 13px', colors: { color: 'muted' } },
  link: { style: 'word-break: break-all', colors: { color: 'accent' } },
  label: { style: 'padding: 2px 0; font-size: 14px', colors: { color: 'muted' } },
  value: { style: 'padding: 2px 12px; font-size: 14px', colors: { color: 'text' } },
  footer: { style: `padding: 16px 8px 0; ${font}; font-size: 13px; line-height: 1.5`, colors: { color: 'muted' } },
} as const satisfies Record<string, Look>

type Part = keyof typeof looks
const parts = Object.keys(looks).filter((part): part is Part => part in looks)

/** How the HTML part of a mail looks. */
export interface MailStyle {
  /** Attributes of each part: inline styles, because some programs ignore style sheets, and a class for the sheet. */
  look: Readonly<Record<Part, string>>
  /** The style sheet: dark mode and narrow screens. */
  sheet: string
}

/** Returns the style of mails from the colours of the theme. */
export function mailStyle({ theme: { colors } }: Pick<Config, 'theme'>): MailStyle {
  const light = (name: ThemeColor): string => colors[name] ?? defaultColors[name][0]
  const dark = (name: ThemeColor): string => colors[`${name}-dark`] ?? colors[name] ?? defaultColors[name][1]
  const declared = (part: Part, mode: (name: ThemeColor) => string, end = ''): string =>
    Object.entries<ThemeColor>(looks[part].colors)
      .map(([property, name]) => `${property}: ${mode(name)}${end}`)
      .join('; ')
  const attributes = (part: Part): string =>
    `class="mail-${part}" style="${looks[part].style}; ${declared(part, light)}"`
  return {
    look: Object.fromEntries(parts.map((part) => [part, attributes(part)])) as MailStyle['look'],
    sheet: [
      ':root { color-scheme: light dark; supported-color-schemes: light dark; }',
      '@media (prefers-color-scheme: dark) {',
      ...parts.map((part) => `.mail-${part} { ${declared(part, dark, ' !important')}; }`),
      '}',
      '@media (max-width: 480px) {',
      '.mail-card { padding: 24px 20px !important; }',
      '.mail-label, .mail-value { display: block !important; }',
      '.mail-value { padding: 0 0 8px !important; }',
      '}',
    ].join('\n'),
  }
}
