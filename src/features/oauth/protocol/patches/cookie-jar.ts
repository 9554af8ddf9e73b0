import type { IncomingMessage } from 'node:http'
import Provider from 'oidc-provider'
import type { Cookies, PresentedCookies } from '../../../../auth/access/cookies.ts'
import { interactionCookie, resumeCookie, sessionCookie } from '../cookie-names.ts'
import type { CookieRecords } from '../cookie-records.ts'
import { interactionReference } from '../interaction-reference.ts'
import { patch } from './patch.ts'
import type { FollowingSession } from './sessions.ts'

/** The methods of the library's cookie jar that svc uses. */
interface Jar {
  request: IncomingMessage
  keys: { verify(data: string, signature: string): boolean }
  set(name: string, value: string | null, options: object): unknown
}

interface Context {
  path: string
  cookies: Jar
}

/** Maximum number of interactions in a browser. Each adds two cookies to every request. */
const maxInteractions = 8

/** Maximum total length of their cookies. Many proxies accept 8 KiB of cookies. */
const maxInteractionsLength = 4_096

/** Longer than the identifier of any session. A longer value contains the session itself. */
const maxIdLength = 64

const lastSegment = ({ path }: Context): string => path.split('/').at(-1) ?? ''

/**
 * Renames the library's cookies: with a prefix, on `Path=/`, and for an interaction with its uid, so that no other host
 * can plant one. A cookie that a request sends twice does not count.
 */
export function adaptCookies(provider: Provider, cookies: Cookies, cookieRecords: CookieRecords): void {
  const jars = new WeakMap<object, Jar>()
  patch<(this: Context) => Jar>(
    provider,
    ['context', 'cookies'],
    'prefixes cookies, names those of an interaction by its uid, and rejects duplicates',
    (own) =>
      function cookiesOf(this: Context): Jar {
        const jar = jars.get(this) ?? adapted(own.call(this), this, cookies, cookieRecords)
        jars.set(this, jar)
        return jar
      },
  )
}

function adapted(jar: Jar, context: Context, cookies: Cookies, cookieRecords: CookieRecords): Jar {
  const { set } = jar
  const presented = cookies.parse(jar.request.headers.cookie ?? '')

  /** A signed value, or the cookie itself if it contains the session. The signature covers the name with its prefix. */
  function signed(name: string): string | undefined {
    const { values, prefixes } = presented
    const [value, signature] = [values[name], values[`${name}.sig`]]
    if (value === undefined || signature === undefined || prefixes.get(name) !== prefixes.get(`${name}.sig`)) return
    const cookie = `${prefixes.get(name)}${name}=${value}`
    if (!jar.keys.verify(cookie, signature)) return undefined
    return value.length > maxIdLength ? cookie : value
  }

  /** Value of the session cookie. A session without a user is in the cookie itself. */
  function sessionValue(id: string | null): string | null {
    const session: FollowingSession | undefined = Provider.ctx?.oidc.session
    if (id === null || !session || session.jti !== id || session.accountId !== undefined) return id
    const { uid, state } = session
    const payload = { kind: 'Session', jti: id, uid, state }
    return cookieRecords.put(jar.request, 'Session', id, payload) ? (cookieRecords.textOf(jar.request, id) ?? id) : id
  }

  const write = (name: string, value: string | null, options: object) =>
    set.call(result, cookies.nameOf(name), value, { ...options, path: '/' })

  const result: Jar = Object.create(jar, {
    get: {
      value: (name: string) =>
        name === cookies.nameOf(sessionCookie)
          ? signed(sessionCookie)
          : interactionReference(presented, name, lastSegment(context)),
    },
    set: {
      value: (name: string, value: string | null, options: object) => {
        if (name !== interactionCookie && name !== resumeCookie)
          return write(sessionCookie, sessionValue(value), options)
        const uid = value ?? lastSegment(context)
        const text = (name === interactionCookie && cookieRecords.textOf(jar.request, uid)) || value
        if (name === interactionCookie) for (const old of oldInteractions(presented, text ?? '')) end(old, options)
        if (text === null) end(uid, options)
        else write(`${name}_${uid}`, text, options)
        return result
      },
    },
  })

  function end(uid: string, options: object): void {
    const { maxAge: _, ...rest } = options as { maxAge?: number }
    for (const name of [interactionCookie, resumeCookie]) write(`${name}_${uid}`, null, rest)
  }

  return result
}

/**
 * Uids of the oldest interactions, to remove before adding one. Browsers send the oldest cookies first (RFC 6265
 * section 5.4).
 */
function oldInteractions({ values }: PresentedCookies, added: string): string[] {
  let [count, length] = [1, added.length]
  const newestFirst = Object.entries(values)
    .filter(([name]) => name.startsWith(`${interactionCookie}_`))
    .reverse()
  return newestFirst.flatMap(([name, value]) => {
    count += 1
    length += name.length + value.length
    return count > maxInteractions || length > maxInteractionsLength ? [name.slice(interactionCookie.length + 1)] : []
  })
}
