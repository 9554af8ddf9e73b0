/**
 * Returns a local path to redirect to, or null if the value could lead to another origin. It must begin with exactly
 * one slash, without characters that browsers drop or convert to a slash; the resolved origin is checked too.
 */
export function localPath(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > 4096 || !/^\/(?!\/)/.test(value)) return null
  if (/[\\\p{Cc}\p{Zl}\p{Zp}]/u.test(value) || !value.isWellFormed()) return null
  const origin = 'https://svc.invalid'
  const url = URL.canParse(value, origin) ? new URL(value, origin) : null
  if (!url || url.origin !== origin || url.pathname.startsWith('//')) return null
  return url.pathname + url.search + url.hash
}
