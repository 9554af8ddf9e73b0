import { domainToASCII } from 'node:url'

const atom = /^[^\s"(),:;<>@[\]\\.]+$/u
const label = /^[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?$/u
/** Quoted local part. Without brackets and outer spaces: mail software drops them, which changes the address. */
const quoted = /^"(?! )(?:[^"\\<>\p{Cc}]|\\[^<>\p{Cc}])+(?<! )"$/u

/** NFC and lower case. Lower case can add or reorder combining marks, so NFC applies again. */
const folded = (text: string): string => text.normalize('NFC').toLowerCase().normalize('NFC')

/** Returns a domain in ASCII and lower case (RFC 5891); one that is no domain name only in lower case. */
export const asciiDomain = (domain: string): string => domainToASCII(domain) || folded(domain)

/**
 * Returns the canonical form of an address, which identifies its mailbox: NFC, lower case, and the domain in ASCII. Browsers
 * submit domains in ASCII, and programs as people write them.
 */
export function foldAddress(address: string): string {
  const at = address.lastIndexOf('@')
  return at < 0 ? folded(address) : `${folded(address.slice(0, at))}@${asciiDomain(address.slice(at + 1))}`
}

/**
 * Tests for a mail address by RFC 5322 and 6531: allows `a@localhost` and quoted local parts, not comments or CR/LF.
 * The canonical form must be valid too, because it can turn letters of the domain into other characters.
 */
export function isEmail(text: string): boolean {
  if (text.length > 255) return false
  // A compatibility character, such as a fullwidth letter, would make another mailbox that looks the same.
  const local = text.slice(0, text.lastIndexOf('@')).normalize('NFC')
  if (local.normalize('NFKC') !== local) return false
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

/**
 * Control characters, line separators, bidirectional controls and invisible characters. Not the joiners (U+200C, U+200D) and
 * the tags, which Persian, Indic scripts and emoji need.
 */
const controls = /[\p{Cc}\u00ad\u180e\u200b\u2028-\u202e\u2060-\u2069\ufeff]+/gu

/** Letters, digits, signs: anything but spaces, fillers and characters that are invisible on their own. */
const visible = /[^\p{Z}\p{C}\p{M}\u115f\u1160\u2800\u3164\uffa0]/u

/** Tests whether a text shows anything. */
export const isVisible = (text: string): boolean => visible.test(text)

/** Removes control characters and invisible ones. */
export const withoutControls = (text: string): string => text.replace(controls, '')

/** Tests for a valid name: one visible line without control characters. */
export const isName = (text: string): boolean => withoutControls(text) === text && (text === '' || isVisible(text))

const dateTime = /^(\d{4})-(\d{2})-(\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/i

/** The dates that both databases can compare, in Unix milliseconds: the years 1 to 9999. */
const [earliest, latest] = [Date.parse('0001-01-01T00:00:00Z'), Date.UTC(9999, 11, 31, 23, 59, 59, 999)]

/** Tests for an existing ISO 8601 date, or date and time. */
export function isDate(text: string): boolean {
  const [found, year, month, day] = dateTime.exec(text) ?? []
  const milliseconds = found === undefined ? Number.NaN : millisecondsOf(text)
  if (!(milliseconds >= earliest && milliseconds <= latest)) return false
  // Date.parse accepts 30 February as 2 March.
  return Number(day) <= new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
}

/** Converts an ISO 8601 text to Unix milliseconds; without an offset it is UTC. */
export function millisecondsOf(text: string): number {
  const iso = text.toUpperCase().replace(' ', 'T')
  const hasTime = iso.includes('T')
  return Date.parse(hasTime && !/(?:Z|[+-]\d{2}:?\d{2})$/.test(iso) ? `${iso}Z` : iso)
}
