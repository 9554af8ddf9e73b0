/** Allowed attempts per window; `window` is in milliseconds. */
export interface Rate {
  max: number
  window: number
}

/** The text for a duration that does not apply. */
export const off = 'off'

/** Unit of a duration: seconds, minutes, hours or days. */
export type DurationUnit = 's' | 'm' | 'h' | 'd'

const MILLISECONDS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Converts `15m` to 900000, and `off` to 0. The text must match the schema's pattern. */
export function toMilliseconds(duration: string): number {
  if (duration === off) return 0
  return Number(duration.slice(0, -1)) * (MILLISECONDS[duration.slice(-1)] ?? 0)
}

/** Converts `5/1m` to five attempts per 60000 milliseconds. The text must match the schema's pattern. */
export function toRate(text: string): Rate {
  const [max = '0', window = '0s'] = text.split('/')
  return { max: Number(max), window: toMilliseconds(window) }
}

/** Formats 900000 as `15m`, in the largest unit without a fraction. */
export function durationText(milliseconds: number): string {
  const unit = Object.keys(MILLISECONDS).findLast((name) => milliseconds % (MILLISECONDS[name] ?? 0) === 0)
  return `${milliseconds / (MILLISECONDS[unit ?? 's'] ?? 1)}${unit}`
}

/** Formats five attempts per 60000 milliseconds as `5/1m`. */
export const rateText = ({ max, window }: Rate): string => `${max}/${durationText(window)}`
