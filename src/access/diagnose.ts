import type { IncomingHttpHeaders } from 'node:http'
import type { Config } from '../config/schema.ts'
import { isStateful } from './stateful.ts'

// Of a page's address only the origin: its path may hold a secret.
const siteOf = (header: string): string => (URL.canParse(header) ? new URL(header).origin : 'an unreadable address')

/** Why the guard let nobody in, for the developer who wonders; it names hosts and settings, never a credential. */
export function diagnosis({ cookie, referer, origin, authorization }: IncomingHttpHeaders, config: Config): string {
  const { stateful, stateful_api, session } = config
  const hasCookie = cookie?.includes(`${session.cookie}=`) ?? false
  if (authorization !== undefined) return 'the token that came is not live: unknown, revoked, expired or badly written'
  if (isStateful({ referer, origin }, stateful)) {
    if (!stateful_api) return 'stateful_api is false: this route takes tokens only'
    return hasCookie
      ? 'the session has no signed-in user: it never had one, was ended, or is too old'
      : 'the page is first-party, but no session cookie came: does it send credentials, and does session.domain fit?'
  }
  if (!hasCookie) return 'neither a session cookie nor a token came'
  if (!referer && !origin) return 'a session cookie came without Origin and Referer: only a first-party page may use it'
  const page = siteOf(origin || referer || '')
  return `a session cookie came from ${page}, which is not in the stateful list, or its Origin and Referer differ`
}
