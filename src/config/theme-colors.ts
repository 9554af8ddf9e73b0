/** Colours that `theme.colors` can set, each also with the suffix `-dark`. */
export const themeColors = [
  // Buttons, links and the focus ring, and the text on buttons.
  'accent',
  'accent-text',
  // The page background and the card.
  'background',
  'surface',
  'text',
  'muted',
  // Card borders and dividers; borders of fields and plain buttons.
  'border',
  'field',
  'danger',
  'success',
] as const
