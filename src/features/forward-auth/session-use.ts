import type { IncomingHttpHeaders } from 'node:http'
import { isSafeMethod } from '../../auth/access/cross-site.ts'
import { isStateful } from '../../auth/access/stateful.ts'
import { isWithin } from '../../platform/config/hosts.ts'
import type { Config } from '../../platform/config/schema.ts'
import type { OriginalRequest } from './original-request.ts'

/** Tests whether browsers send the session cookie to the host. */
export function receivesCookie({ host: { name } }: OriginalRequest, { app, session }: Config): boolean {
  const domain = session.domain?.replace(/^\./, '').toLowerCase()
  return domain === undefined ? name === new URL(app.url).hostname : isWithin(name, domain)
}

const isWebSocket = ({ upgrade = '', ...headers }: IncomingHttpHeaders): boolean =>
  upgrade.toLowerCase().includes('websocket') ||
  headers['sec-websocket-key'] !== undefined ||
  headers['sec-fetch-mode'] === 'websocket'

/** Tests for a navigation of a whole tab. For browsers without `Sec-Fetch-*` headers, `Accept` decides. */
export function isTopLevel({ methods }: OriginalRequest, headers: IncomingHttpHeaders): boolean {
  if (!methods.every((method) => method === 'GET' || method === 'HEAD') || isWebSocket(headers)) return false
  const mode = headers['sec-fetch-mode']
  if (mode !== undefined) return mode === 'navigate' && headers['sec-fetch-dest'] === 'document'
  return headers.origin === undefined && (headers.accept ?? '').toLowerCase().includes('text/html')
}

/**
 * Tests whether a session may authenticate the request: pages of a stateful origin, navigations and the pages of the
 * host itself. Otherwise any site could use the user's session.
 */
export function mayUseSession(original: OriginalRequest, headers: IncomingHttpHeaders, config: Config): boolean {
  if (!config.stateful_api) return false
  if (headers.origin === original.origin || isStateful(headers, config.stateful)) return true
  if (isWebSocket(headers)) return false
  return headers['sec-fetch-site'] === 'same-origin' || isTopLevel(original, headers)
}

/** Tests whether the CSRF check applies. */
export const isUnsafe = ({ methods }: OriginalRequest): boolean => !methods.every(isSafeMethod)
