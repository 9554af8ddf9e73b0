const atom = /^[^\s"(),:;<>@[\]\\.]+$/u
const label = /^[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?$/u
const quoted = /^"(?:[^"\\\p{Cc}]|\\[^\p{Cc}])+"$/u

/** Whether a text is an address by RFC 5322 (and 6531): `a@localhost` and quoted local parts are, comments and CR/LF are not. */
export function isEmail(text: string): boolean {
  if (text.length > 255) return false
  const at = text.lastIndexOf('@')
  const local = text.slice(0, at)
  const domain = text.slice(at + 1)
  if (at < 1 || /\p{Cc}/u.test(text)) return false
  const isLocal = quoted.test(local) || local.split('.').every((part) => atom.test(part))
  return isLocal && domain.split('.').every((part) => part.length <= 63 && label.test(part))
}

const dateTime = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/i

/** Whether a text is an ISO 8601 date, or date and time, that exists. */
export const isDate = (text: string): boolean => dateTime.test(text) && !Number.isNaN(millisecondsOf(text))

/** The moment of an ISO 8601 text in unix milliseconds; without an offset it is UTC. */
export function millisecondsOf(text: string): number {
  const iso = text.replace(' ', 'T')
  const hasTime = iso.includes('T')
  return Date.parse(hasTime && !/(?:Z|[+-]\d{2}:?\d{2})$/i.test(iso) ? `${iso}Z` : iso)
}
