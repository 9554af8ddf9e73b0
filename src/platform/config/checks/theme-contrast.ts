import type { Finding } from '../findings.ts'
import type { Config } from '../schema.ts'
import { defaultColors, type ThemeColor } from '../theme-colors.ts'

/** Colours that meet on svc's pages, and their minimum contrast (WCAG 2.2, 1.4.3 and 1.4.11). */
const pairs: readonly (readonly [front: ThemeColor, back: ThemeColor, minimum: number])[] = [
  ['text', 'background', 4.5],
  ['text', 'surface', 4.5],
  ['muted', 'background', 4.5],
  ['muted', 'surface', 4.5],
  ['accent', 'surface', 4.5],
  ['accent', 'background', 4.5],
  ['accent-text', 'accent', 4.5],
  ['danger', 'surface', 4.5],
  ['success', 'surface', 4.5],
  ['field', 'surface', 3],
]

/** The relative luminance of a hexadecimal colour (WCAG 2.2); null for other colours, which are not checked. */
function luminanceOf(color: string): number | null {
  const long = color.replace(/^#(.)(.)(.)$/, '#$1$1$2$2$3$3')
  const parts = /^#([\da-f]{2})([\da-f]{2})([\da-f]{2})$/i.exec(long)?.slice(1)
  if (!parts) return null
  const [red = 0, green = 0, blue = 0] = parts.map((part) => {
    const share = Number.parseInt(part, 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** Returns the contrast of two hexadecimal colours, from 1 to 21; null if one has another notation. */
function contrastOf(one: string, other: string): number | null {
  const [first, second] = [luminanceOf(one), luminanceOf(other)]
  if (first === null || second === null) return null
  return (Math.max(first, second) + 0.05) / (Math.min(first, second) + 0.05)
}

/** Returns warnings about colours of the theme that are hard to read together. */
export function themeWarnings({ theme: { colors } }: Config): Finding[] {
  return ([0, 1] as const).flatMap((mode) => {
    // A colour of the theme without a dark one also applies in dark mode.
    const nameOf = (name: ThemeColor) => (mode === 1 && colors[`${name}-dark`] !== undefined ? `${name}-dark` : name)
    const colorOf = (name: ThemeColor) => colors[nameOf(name)] ?? defaultColors[name][mode]
    return pairs.flatMap(([front, back, minimum]) => {
      const own = [front, back].map(nameOf).find((name) => colors[name] !== undefined)
      const contrast = contrastOf(colorOf(front), colorOf(back))
      if (own === undefined || contrast === null || contrast >= minimum) return []
      const where = mode === 1 ? 'in dark mode' : 'in light mode'
      const rounded = Math.floor(contrast * 10) / 10
      const message = `${front} on ${back} has a contrast of ${rounded}:1 ${where}; it needs at least ${minimum}:1`
      return [{ path: ['theme', 'colors', own], message }]
    })
  })
}
