/** A path that svc does not match to rules, because servers disagree about it or reject it. */
export class UnreadablePath extends Error {}

/** More readings than this need a path that no application uses. */
const maxReadings = 64

/** Longer paths may have fewer readings, so that each path takes a bounded time. In characters of all readings. */
const maxLength = 65_536

/** Each function reads a path as some servers do. */
const interpretations: readonly ((path: string) => string)[] = [
  (path) => decoded(path, /%[0-9a-f]{2}/gi),
  // Servers that split the path before they decode it.
  (path) => decoded(path, /%(?!2f)[0-9a-f]{2}/gi),
  // Path parameters (RFC 3986 section 3.3). Python's urlparse removes only those of the last segment.
  (path) => path.replaceAll(/;[^/]*/g, ''),
  (path) => path.replace(/;[^/]*$/, ''),
  (path) => path.replaceAll(/\/{2,}/g, '/'),
  // Parsers of URLs take the first segment after `//` for a host (RFC 3986 section 4.2), some also after `///`.
  (path) => path.replace(/^\/\/[^/?#]*(?=\/|$)/, '') || '/',
  (path) => path.replace(/^\/{2,}[^/?#]*(?=\/|$)/, '') || '/',
  withoutDotSegments,
  // Servers that look for the query after they decode the path.
  (path) => path.replace(/[?#].*$/, ''),
]

/**
 * Returns every way in which a server may read a path, each with a leading slash. A plain path has one. Throws
 * UnreadablePath if servers reject the path.
 */
export function readingsOf(path: string): readonly string[] {
  // Whitespace, control characters, backslashes and raw UTF-8 are no part of a URL (RFC 3986 section 3.3).
  if (!/^\/[!-~]*$/.test(path) || path.includes('\\')) throw new UnreadablePath('has invalid characters')
  if (!/[%;?#]|\/[./]/.test(path)) return [path]
  if (/%(?![0-9a-f]{2})/i.test(path)) throw new UnreadablePath('has an invalid percent-encoding')
  // All servers decode UTF-8 in the same way.
  const readings = new Set([decoded(path, /%[89a-f][0-9a-f]/gi)])
  for (const reading of readings) {
    // Servers disagree whether this is a dot segment, and no application uses it.
    if (/\/\.{1,2};/.test(reading)) throw new UnreadablePath('has path parameters behind a dot segment')
    for (const interpret of interpretations) readings.add(interpret(reading))
    if (readings.size > maxReadings || readings.size * path.length > maxLength)
      throw new UnreadablePath('has too many readings')
  }
  return [...readings]
}

/** Decodes the matching bytes, and throws for characters that no path has. */
function decoded(path: string, bytes: RegExp): string {
  const runs = new RegExp(`(?:${bytes.source})+`, 'gi')
  const text = path.replaceAll(runs, (run) => {
    try {
      return decodeURIComponent(run)
    } catch {
      throw new UnreadablePath('is not UTF-8')
    }
  })
  if (/[\p{Cc}\\]/u.test(text)) throw new UnreadablePath('has an encoded control character or backslash')
  return text
}

/** Removes `.` and `..` (RFC 3986 section 5.2.4). Throws if `..` leaves the root, where servers disagree about the rest. */
function withoutDotSegments(path: string): string {
  const segments: string[] = []
  const given = path.split('/').slice(1)
  for (const [index, segment] of given.entries()) {
    const isDots = segment === '.' || segment === '..'
    if (segment === '..' && segments.pop() === undefined) throw new UnreadablePath('leaves the root by ..')
    if (!isDots) segments.push(segment)
    else if (index === given.length - 1) segments.push('')
  }
  return `/${segments.join('/')}`
}
