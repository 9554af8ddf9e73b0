import type { Language } from './languages.ts'

const formats = new Map<Language, Intl.DateTimeFormat>()

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
