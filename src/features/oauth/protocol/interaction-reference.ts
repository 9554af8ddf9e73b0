import type { CookiePrefix } from '../../../auth/access/cookies.ts'
import { interactionCookie } from './cookie-names.ts'

/** Identifier of an interaction for the library, if the browser has its cookie: its uid, or the cookie that contains it. */
export function interactionReference(
  { values, prefixes }: { values: Record<string, string | undefined>; prefixes: ReadonlyMap<string, CookiePrefix> },
  cookie: string,
  uid: string,
): string | undefined {
  const name = `${cookie}_${uid}`
  const value = values[name]
  if (value === uid) return uid
  return value && cookie === interactionCookie ? `${prefixes.get(name)}${name}=${value}` : undefined
}
