/** The colours of svc's own pages that `theme.colors` may set, each also with `-dark` behind it. */
export const themeColors = [
  // Buttons, links and the focus ring; and what is written on a button.
  'accent',
  'accent-text',
  // Behind the card, and the card.
  'background',
  'surface',
  'text',
  'muted',
  // The card's edge and dividing lines; the edge of fields and plain buttons.
  'border',
  'field',
  'danger',
  'success',
] as const
