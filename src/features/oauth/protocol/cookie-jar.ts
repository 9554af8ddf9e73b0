import type { IncomingMessage } from 'node:http'
import type Provider from 'oidc-provider'
import type { Cookies, PresentedCookies } from '../../../access/cookies.ts'
import { interactionCookie, resumeCookie, sessionCookie } from './cookie-names.ts'

/** The library's cookies, as far as they are used here. */
interface Jar {
  request: IncomingMessage
  keys: { verify(data: string, signature: string): boolean }
  set(name: string, value: string | null, options: object): unknown
}

interface Context {
  path: string
  cookies: Jar
}

/** How many interactions a browser keeps: each adds two cookies to every request. */
const mostInteractions = 8

const lastSegment = ({ path }: Context): string => path.split('/').at(-1) ?? ''

/**
 * Gives the library's cookies svc's names: prefixed, on `Path=/`, and those of an interaction with its uid, so that no
 * other host can plant one. A cookie that came twice does not count.
 */
export function adaptCookies(provider: Provider, cookies: Cookies): void {
  const context: object = Reflect.get(provider, 'context')
  const own = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(context), 'cookies')
  if (!own?.get) throw new Error('The OAuth library keeps its cookies elsewhere.')
  const jars = new WeakMap<object, Jar>()
  Object.defineProperty(context, 'cookies', {
    configurable: true,
    get(this: Context): Jar {
      const jar = jars.get(this) ?? adapted(Reflect.apply(own.get as () => Jar, this, []), this, cookies)
      jars.set(this, jar)
      return jar
    },
  })
}

function adapted(jar: Jar, context: Context, cookies: Cookies): Jar {
  const { set } = jar
  const presented = cookies.parse(jar.request.headers.cookie ?? '')

  /** A signed value: the signature covers the name with its prefix. */
  function signed(name: string): string | undefined {
    const { values, prefixes } = presented
    const [value, signature] = [values[name], values[`${name}.sig`]]
    if (value === undefined || signature === undefined || prefixes.get(name) !== prefixes.get(`${name}.sig`)) return
    return jar.keys.verify(`${prefixes.get(name)}${name}=${value}`, signature) ? value : undefined
  }

  /** The uid of the interaction in the path, if the browser has its cookie; before, that one had no uid in its name. */
  function interaction(name: string): string | undefined {
    const uid = lastSegment(context)
    return presented.values[`${name}_${uid}`] === uid || presented.values[name] === uid ? uid : undefined
  }

  const write = (name: string, value: string | null, options: object) =>
    set.call(result, cookies.nameOf(name), value, { ...options, path: '/' })

  const result: Jar = Object.create(jar, {
    get: {
      value: (name: string) => (name === cookies.nameOf(sessionCookie) ? signed(sessionCookie) : interaction(name)),
    },
    set: {
      value: (name: string, value: string | null, options: object) => {
        if (name !== interactionCookie && name !== resumeCookie) return write(sessionCookie, value, options)
        const uid = value ?? lastSegment(context)
        if (name === interactionCookie) for (const old of oldInteractions(presented)) end(old, options)
        if (value === null) end(uid, options)
        else write(`${name}_${uid}`, value, options)
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

/** The uids of the oldest interactions, which leave room for one more: browsers send the oldest cookies first (RFC 6265 section 5.4). */
function oldInteractions({ values }: PresentedCookies): string[] {
  const uids = Object.keys(values).flatMap((name) =>
    name.startsWith(`${interactionCookie}_`) ? [name.slice(interactionCookie.length + 1)] : [],
  )
  return uids.slice(0, Math.max(0, uids.length - mostInteractions + 1))
}
