/** Tests for a redirect to a program on the machine of the user. */
export const isLoopback = (uri: unknown): boolean => typeof uri === 'string' && URL.parse(uri)?.protocol === 'http:'

/** Returns the host that a redirect leads to; null for a native app. */
export function hostOf(uri: unknown): string | null {
  if (typeof uri !== 'string' || !URL.canParse(uri)) return null
  const { protocol, host } = new URL(uri)
  return protocol === 'https:' || protocol === 'http:' ? host : null
}
