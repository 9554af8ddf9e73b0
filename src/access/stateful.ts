import type { IncomingHttpHeaders } from 'node:http'
import { isIPv6 } from 'node:net'

/** A page's address as browsers write it: no userinfo, no backslash, no blank; the scheme may be missing. */
const pageAddress = /^(?:(https?):\/\/)?[^\s\\/?#@]+(?:[/?#][^\s\\]*)?$/i

/** The host[:port] of a header's URL, and the same with the scheme's default port spelled out; null for what no browser sends. */
function parseHosts(header: string): readonly string[] | null {
  const address = pageAddress.exec(header)
  const text = address?.[1] ? header : `http://${header}`
  if (!address || !URL.canParse(text)) return null
  const { host, port, protocol } = new URL(text)
  return port === '' ? [host, `${host}:${protocol === 'https:' ? 443 : 80}`] : [host]
}

/** Parsed headers: a front end sends the same few with every request. Emptied when full, so that no client can fill the memory. */
const parsed = new Map<string, readonly string[] | null>()
const maxParsed = 500
const longestParsed = 200

function hostsOf(header: string): readonly string[] | null {
  let hosts = parsed.get(header)
  if (hosts === undefined) {
    hosts = parseHosts(header)
    if (parsed.size >= maxParsed) parsed.clear()
    if (header.length <= longestParsed) parsed.set(header, hosts)
  }
  return hosts
}

/** An entry in the form in which URLs write their host; IPv6 in brackets and shortened. */
function canonicalEntry(entry: string): string {
  const name = entry.trim().toLowerCase()
  const [, host = name, port = ''] = isIPv6(name) ? ['', `[${name}]`] : (/^(.+?)(:\d+)?$/.exec(name) ?? [])
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname + port : name
}

/** An entry as a test: `*` stands for characters of one host name. */
function matcherOf(entry: string): (host: string) => boolean {
  const host = entry.includes('*') ? entry.trim().toLowerCase() : canonicalEntry(entry)
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
