import type { IncomingHttpHeaders } from 'node:http'
import type { Config } from '../config/schema.ts'
import { isStateful } from './stateful.ts'

// Only the origin of a page, because its path may contain a secret.
const siteOf = (header: string): string => (URL.canParse(header) ? new URL(header).origin : 'an invalid URL')

/** Explains why authentication failed, for developers. Names hosts and settings, never credentials. */
export function diagnosis({ cookie, referer, origin, authorization }: IncomingHttpHeaders, config: Config): string {
  const { stateful, stateful_api, session } = config
  const hasCookie = cookie?.includes(`${session.cookie}=`) ?? false
  if (authorization !== undefined) return 'the token is unknown, revoked, expired or malformed'
  if (isStateful({ referer, origin }, stateful)) {
    if (!stateful_api) return 'stateful_api is false, so this route accepts only tokens'
    return hasCookie
      ? 'the session is anonymous, ended or expired'
      : 'the first-party page sent no session cookie; check its credentials mode and session.domain'
  }
  if (!hasCookie) return 'the request has neither a session cookie nor a token'
  if (!referer && !origin)
    return 'the session cookie came without Origin and Referer, so the page may not be first-party'
  const page = siteOf(origin || referer || '')
  return `the session cookie came from ${page}, which is not in the stateful list, or Origin and Referer differ`
}
