/** How many attempts a window allows; `window` is in milliseconds. */
export interface Rate {
  max: number
  window: number
}

const MILLISECONDS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Turns `15m` into 900000; the text must have passed the schema's pattern. */
export function toMilliseconds(duration: string): number {
  return Number(duration.slice(0, -1)) * (MILLISECONDS[duration.slice(-1)] ?? 0)
}

/** Turns `5/1m` into five attempts in 60000 milliseconds; the text must have passed the schema's pattern. */
export function toRate(text: string): Rate {
  const [max = '0', window = '0s'] = text.split('/')
  return { max: Number(max), window: toMilliseconds(window) }
}

/** Writes 900000 as `15m`: in the largest unit that it is a whole number of. */
export function durationText(milliseconds: number): string {
  const unit = Object.keys(MILLISECONDS).findLast((name) => milliseconds % (MILLISECONDS[name] ?? 0) === 0)
  return `${milliseconds / (MILLISECONDS[unit ?? 's'] ?? 1)}${unit}`
}

/** Writes five attempts in 60000 milliseconds as `5/1m`. */
export const rateText = ({ max, window }: Rate): string => `${max}/${durationText(window)}`
