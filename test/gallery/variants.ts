import type { Page } from 'playwright-core'

type Media = NonNullable<Parameters<Page['emulateMedia']>[0]>

/** How the gallery shows each page. */
export interface Variant {
  label: string
  language: string
  viewport: { width: number; height: number }
  media: Media
  /** The states that it shows, by default all but those with untrusted values. */
  shows?: (state: string) => boolean
}

const desktop = { width: 1280, height: 800 }
const phone = { width: 320, height: 640 }

/** Tests for a state with untrusted values. */
export const isHostile = (state: string): boolean => state.endsWith('-hostile')

export const variants: Readonly<Record<string, Variant>> = {
  light: { label: 'Light', language: 'en', viewport: desktop, media: {}, shows: () => true },
  dark: { label: 'Dark', language: 'en', viewport: desktop, media: { colorScheme: 'dark' } },
  narrow: { label: '320 px', language: 'en', viewport: phone, media: {}, shows: () => true },
  german: { label: 'German, 320 px', language: 'de', viewport: phone, media: {} },
  arabic: { label: 'Arabic', language: 'ar', viewport: desktop, media: {} },
  'arabic-narrow': { label: 'Arabic, 320 px', language: 'ar', viewport: phone, media: { colorScheme: 'dark' } },
  wide: { label: '1920 px', language: 'en', viewport: { width: 1920, height: 1080 }, media: {} },
  contrast: { label: 'Forced colours', language: 'en', viewport: desktop, media: { forcedColors: 'active' } },
  print: {
    label: 'Print',
    language: 'en',
    viewport: { width: 794, height: 1123 },
    media: { media: 'print' },
    shows: (state) => state.startsWith('account-recovery-codes') || state === 'account-token',
  },
}

/** Names of the variants that show a state. */
export const variantsOf = (state: string): string[] =>
  Object.entries(variants).flatMap(([name, { shows = (other: string) => !isHostile(other) }]) =>
    shows(state) ? [name] : [],
  )
