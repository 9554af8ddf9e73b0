/**
 * Colours that `theme.colors` can set, each also with the suffix `-dark`, and their defaults in light and dark mode.
 * `pages/templates/style.css` has the same defaults.
 */
export const defaultColors = {
  // Buttons, links and the focus ring, and the text on buttons.
  accent: ['#4a3aa8', '#bdb4ff'],
  'accent-text': ['#ffffff', '#17133a'],
  // The page background and the card.
  background: ['#f5f4f9', '#121118'],
  surface: ['#ffffff', '#1b1a22'],
  text: ['#1d1b26', '#eae8f0'],
  muted: ['#5c586b', '#aaa6b8'],
  // Card borders and dividers; borders of fields and plain buttons.
  border: ['#e2dfea', '#302e3a'],
  field: ['#86819a', '#757087'],
  danger: ['#a8261d', '#ff9d94'],
  success: ['#1a6840', '#86d7a9'],
} as const satisfies Record<string, readonly [light: string, dark: string]>

/** Name of a colour of the theme. */
export type ThemeColor = keyof typeof defaultColors

export const themeColors = Object.keys(defaultColors).filter((name): name is ThemeColor => name in defaultColors)
