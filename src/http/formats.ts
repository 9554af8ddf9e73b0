const atom = /^[^\s"(),:;<>@[\]\\.]+$/u
const label = /^[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?$/u
/** Without brackets and outer blanks: on the way into a mail they are lost, and what is left is somebody else's address. */
const quoted = /^"(?! )(?:[^"\\<>\p{Cc}]|\\[^<>\p{Cc}])+(?<! )"$/u

/**
 * Whether a text is an address by RFC 5322 (and 6531): `a@localhost` and quoted local parts are, comments and CR/LF are not.
 * So must be the form in which it is stored: letters that only look like a comma or an at sign would become one there.
 */
export function isEmail(text: string): boolean {
  if (text.length > 255) return false
  const stored = text.normalize('NFKC').toLowerCase()
  return isAddress(text) && (stored === text || isAddress(stored))
}

function isAddress(text: string): boolean {
  if (text.length > 255) return false
  const at = text.lastIndexOf('@')
  const local = text.slice(0, at)
  const domain = text.slice(at + 1)
  // Format characters (bidirectional, zero-width, soft hyphen) are invisible: with them two addresses look the same.
  if (at < 1 || /[\p{Cc}\p{Cf}]/u.test(text)) return false
  const isLocal = quoted.test(local) || local.split('.').every((part) => atom.test(part))
  return isLocal && domain.split('.').every((part) => part.length <= 63 && label.test(part))
}

/** Control characters, line separators, and what embeds, overrides or isolates the direction of text. */
const controls = /[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu

/** The text without control characters. */
export const withoutControls = (text: string): string => text.replace(controls, '')

/** Whether a text can be a name: whatever shows it shows it as one line, in its own direction. */
export const isName = (text: string): boolean => withoutControls(text) === text

const dateTime = /^(\d{4})-(\d{2})-(\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/i

/** The last moment that has a year of four digits. */
const latest = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** Whether a text is an ISO 8601 date, or date and time, that exists. */
export function isDate(text: string): boolean {
  const [found, year, month, day] = dateTime.exec(text) ?? []
  if (found === undefined || !(millisecondsOf(text) <= latest)) return false
  // Date.parse takes 30 February for 2 March.
  return Number(day) <= new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
}

/** The moment of an ISO 8601 text in unix milliseconds; without an offset it is UTC. */
export function millisecondsOf(text: string): number {
  const iso = text.toUpperCase().replace(' ', 'T')
  const hasTime = iso.includes('T')
  return Date.parse(hasTime && !/(?:Z|[+-]\d{2}:?\d{2})$/.test(iso) ? `${iso}Z` : iso)
}
