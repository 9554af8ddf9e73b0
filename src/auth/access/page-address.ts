/** The page's origin as browsers write it. Never the path, which may contain a secret. */
export function originOf(header: string | undefined): string | null {
  const url = header === undefined ? null : URL.parse(header)
  return url && /^https?:$/.test(url.protocol) ? url.origin : null
}

/** The page's origin for a message. */
export const shownOrigin = (header: string): string => originOf(header) ?? 'an invalid origin'
