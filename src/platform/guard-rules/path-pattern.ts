/** A parsed path pattern: literal segments, null for a segment with any content, and whether anything may follow. */
export interface PathPattern {
  segments: readonly (string | null)[]
  isPrefix: boolean
}

/** `/orders`, `/orders/:id` and `/orders/*`: no encoding, query, parameters or dot segments. */
export const isPathPattern = (text: string): boolean =>
  text === '/*' ||
  (/^(?:\/(?!\.{1,2}(?:\/|$))(?::[\w-]+|[^\s\p{Cc}/\\%?#;*:][^\s\p{Cc}/\\%?#;*]*))+(?:\/|\/\*)?$|^\/$/u.test(text) &&
    text.length <= 2_000)

/** Parses a valid pattern. `/orders/*` also matches `/orders`; a trailing slash makes no difference. */
export function parsePath(text: string): PathPattern {
  const isPrefix = text.endsWith('/*')
  const segments = text
    .replace(/\/\*?$/, '')
    .split('/')
    .slice(1)
  return { segments: segments.map((segment) => (segment.startsWith(':') ? null : segment)), isPrefix }
}

/** Tests whether the first pattern matches every path that the second one matches. */
export function coversPath(first: PathPattern, second: PathPattern): boolean {
  const isDeepEnough = first.isPrefix
    ? second.segments.length >= first.segments.length
    : !second.isPrefix && second.segments.length === first.segments.length
  return (
    isDeepEnough && first.segments.every((segment, index) => segment === null || segment === second.segments[index])
  )
}
