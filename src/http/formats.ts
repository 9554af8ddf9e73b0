const atom = /^[^\s"(),:;<>@[\]\\.]+$/u
const label = /^[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?$/u
/** Quoted local part. Without brackets and outer spaces: mail software drops them, which changes the address. */
const quoted = /^"(?! )(?:[^"\\<>\p{Cc}]|\\[^<>\p{Cc}])+(?<! )"$/u

/** Folds an address: NFKC and lower case. Lower case can add or reorder combining marks, so NFKC applies again. */
export const foldAddress = (address: string): string => address.normalize('NFKC').toLowerCase().normalize('NFKC')

/**
 * Tests for a mail address by RFC 5322 and 6531: allows `a@localhost` and quoted local parts, not comments or CR/LF.
 * The normalised form must be valid too, because normalisation can turn letters into a comma or an at sign.
 */
export function isEmail(text: string): boolean {
  if (text.length > 255) return false
  const stored = foldAddress(text)
  return isAddress(text) && (stored === text || isAddress(stored))
}

function isAddress(text: string): boolean {
  if (text.length > 255) return false
  const at = text.lastIndexOf('@')
  const local = text.slice(0, at)
  const domain = text.slice(at + 1)
  // Format characters (bidirectional, zero-width, soft hyphen) are invisible, so two addresses would look the same.
  if (at < 1 || /[\p{Cc}\p{Cf}]/u.test(text)) return false
  const isLocal = quoted.test(local) || local.split('.').every((part) => atom.test(part))
  return isLocal && domain.split('.').every((part) => part.length <= 63 && label.test(part))
}

/** Control characters, line separators and bidirectional controls. */
const controls = /[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu

/** Removes control characters. */
export const withoutControls = (text: string): string => text.replace(controls, '')

/** Tests for a valid name: one line without bidirectional controls. */
export const isName = (text: string): boolean => withoutControls(text) === text

const dateTime = /^(\d{4})-(\d{2})-(\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/i

/** Last millisecond of the year 9999, the latest date that svc accepts. */
const latest = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** Tests for an existing ISO 8601 date, or date and time. */
export function isDate(text: string): boolean {
  const [found, year, month, day] = dateTime.exec(text) ?? []
  if (found === undefined || !(millisecondsOf(text) <= latest)) return false
  // Date.parse accepts 30 February as 2 March.
  return Number(day) <= new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
}

/** Converts an ISO 8601 text to Unix milliseconds; without an offset it is UTC. */
export function millisecondsOf(text: string): number {
  const iso = text.toUpperCase().replace(' ', 'T')
  const hasTime = iso.includes('T')
  return Date.parse(hasTime && !/(?:Z|[+-]\d{2}:?\d{2})$/.test(iso) ? `${iso}Z` : iso)
}
