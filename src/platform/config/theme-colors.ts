/**
 * Colours that `theme.colors` can set, each also with the suffix `-dark`, and their defaults in light and dark mode.
 * `pages/templates/style.css` has the same defaults.
 */
export const defaultColors = {
  // Buttons, links and the focus ring, and the text on buttons.
  accent: ['#1f4e9e', '#9dc0ff'],
  'accent-text': ['#ffffff', '#0e1726'],
  // The page background and the card.
  background: ['#f3f4f6', '#0f1217'],
  surface: ['#ffffff', '#181c23'],
  text: ['#191d24', '#e7eaef'],
  muted: ['#565f6d', '#a4adba'],
  // Card borders and dividers; borders of fields and plain buttons.
  border: ['#dfe3e8', '#2c323c'],
  field: ['#828b99', '#6f7989'],
  danger: ['#a8261d', '#ff9d94'],
  success: ['#1a6840', '#86d7a9'],
} as const satisfies Record<string, readonly [light: string, dark: string]>

/** Name of a colour of the theme. */
export type ThemeColor = keyof typeof defaultColors

export const themeColors = Object.keys(defaultColors).filter((name): name is ThemeColor => name in defaultColors)
