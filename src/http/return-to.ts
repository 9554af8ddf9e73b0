/**
 * A path of svc to go back to, or null for what could lead elsewhere.
 * It begins with exactly one slash and holds nothing that a browser drops or turns into one; resolving it decides in the end.
 */
export function localPath(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > 4096 || !/^\/(?!\/)/.test(value)) return null
  if (/[\\\p{Cc}\p{Zl}\p{Zp}]/u.test(value) || !value.isWellFormed()) return null
  const origin = 'https://svc.invalid'
  const url = URL.canParse(value, origin) ? new URL(value, origin) : null
  if (!url || url.origin !== origin || url.pathname.startsWith('//')) return null
  return url.pathname + url.search + url.hash
}
