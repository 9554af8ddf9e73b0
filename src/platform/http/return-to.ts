import type { Config } from '../config/schema.ts'
import { keysOf, parseHost, patternKey } from '../guard-rules/host-pattern.ts'

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

/**
 * Returns a local path, or the URL of a service that a guard rule names by its host. The URL must be https, except where
 * svc itself runs on http. Null for everything else.
 */
export function returnTarget({ app, guard }: Config, value: unknown): string | null {
  const path = localPath(value)
  if (path !== null || typeof value !== 'string' || value.length > 4096) return path
  const [, scheme = '', authority = ''] = /^(https?):\/\/([^/?#\\]*)(?:[/?#][!-~]*)?$/.exec(value) ?? []
  const isSecure = scheme === 'https' || (scheme === 'http' && app.url.startsWith('http:'))
  const host = parseHost(authority)
  if (!isSecure || !host || value.includes('\\')) return null
  const keys = keysOf({ ...host, port: host.port ?? (scheme === 'https' ? '443' : '80') })
  const isNamed = guard.rules.some(({ hosts }) => hosts?.some((pattern) => keys.includes(patternKey(pattern))))
  return isNamed && URL.canParse(value) ? new URL(value).href : null
}
