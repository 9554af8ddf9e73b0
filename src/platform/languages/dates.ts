import type { Language } from './languages.ts'

const formats = new Map<Language, Intl.DateTimeFormat>()

/** Units by their length in seconds. */
const units = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

/** Formats a time by its distance from now, such as "2 hours ago". */
export function formatRelative(language: Language, at: Date | number | string, now: number): string {
  const seconds = (new Date(at).getTime() - now) / 1_000
  const [unit, length] = units.find(([, each]) => Math.abs(seconds) >= each) ?? ['second', Number.POSITIVE_INFINITY]
  // "yesterday" would be a day of the calendar, but "now" is right for some seconds.
  const format = new Intl.RelativeTimeFormat(language, { numeric: unit === 'second' ? 'auto' : 'always' })
  return format.format(Math.trunc(seconds / length), unit)
}

/** Formats a date and time. In UTC, because svc does not know the time zone of a person. */
export function formatDate(language: Language, at: Date | number | string): string {
  const format =
    formats.get(language) ??
    new Intl.DateTimeFormat(language, {
      year: 'numeric',
      month: 'long',
      day: 'numeric',
      hour: 'numeric',
      minute: '2-digit',
      timeZone: 'UTC',
      timeZoneName: 'short',
    })
  formats.set(language, format)
  return format.format(new Date(at))
}
