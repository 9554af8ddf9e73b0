import type { IncomingHttpHeaders } from 'node:http'

/** The host[:port] of a header's URL, and the same with the scheme's default port spelled out; null for what no browser sends. */
function hostsOf(header: string): readonly string[] | null {
  const text = header.includes('://') ? header : `http://${header}`
  if (!URL.canParse(text)) return null
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') return null
  if (url.protocol === 'https:') return url.port === '' ? [url.host, `${url.host}:443`] : [url.host]
  if (url.protocol === 'http:') return url.port === '' ? [url.host, `${url.host}:80`] : [url.host]
  return null
}

/** An entry as a test: `*` stands for characters of one host name; a bare IPv6 address gets its brackets. */
function matcherOf(entry: string): (host: string) => boolean {
  const name = entry.trim().toLowerCase()
  const host = name.includes('::') && !name.startsWith('[') ? `[${name}]` : name
  if (!host.includes('*')) return (candidate) => candidate === host
  const escaped = host.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^/:]+')
  const pattern = new RegExp(`^${escaped}$`)
  return (candidate) => pattern.test(candidate)
}

const matchers = new WeakMap<readonly string[], ((host: string) => boolean)[]>()

/** The entries' tests, made once for each list (a reload brings a new one). */
function matchersOf(entries: readonly string[]): ((host: string) => boolean)[] {
  let found = matchers.get(entries)
  if (!found) {
    found = entries.filter((entry) => entry.trim() !== '').map(matcherOf)
    matchers.set(entries, found)
  }
  return found
}

/** Whether the URL's host[:port] equals one of the entries. */
export function isListed(url: string, entries: readonly string[]): boolean {
  const hosts = hostsOf(url)
  return hosts?.some((host) => matchersOf(entries).some((matches) => matches(host))) ?? false
}

/** Whether a request comes from the first-party front end: by `Referer`, else `Origin`; both together must agree. */
export function isStateful({ referer, origin }: IncomingHttpHeaders, entries: readonly string[]): boolean {
  if (origin === 'null') return false
  if (referer && origin && hostsOf(referer)?.[0] !== hostsOf(origin)?.[0]) return false
  const source = referer || origin
  return source ? isListed(source, entries) : false
}
