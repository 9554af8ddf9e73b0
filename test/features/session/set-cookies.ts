import type { LightMyRequestResponse } from 'fastify'
import { Cookie } from 'tough-cookie'

/** The cookies that an answer sets, by name. */
export function cookiesOf(answer: LightMyRequestResponse): Record<string, Cookie> {
  const cookies: Record<string, Cookie> = {}
  for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
    const cookie = Cookie.parse(line)
    if (!cookie) throw new Error(`This is no cookie: ${line}`)
    if (cookies[cookie.key]) throw new Error(`${cookie.key} is set twice.`)
    cookies[cookie.key] = cookie
  }
  return cookies
}

/** The names of the cookies that an answer sets, in alphabetical order. */
export const cookieNames = (answer: LightMyRequestResponse): string[] => Object.keys(cookiesOf(answer)).sort()

/** The session cookie and the XSRF value, which are always set together. */
export const pair: string[] = ['XSRF-TOKEN', 'svc_session']
