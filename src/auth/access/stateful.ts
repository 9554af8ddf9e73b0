import type { IncomingHttpHeaders } from 'node:http'
import { isIPv6 } from 'node:net'

/** A URL as browsers send it: no userinfo, backslashes or blanks. The scheme is optional. */
const pageAddress = /^(?:(https?):\/\/)?[^\s\\/?#@]+(?:[/?#][^\s\\]*)?$/i

/** Returns the host[:port] of a header's URL, with and without the default port, or null for an invalid URL. */
function parseHosts(header: string): readonly string[] | null {
  const address = pageAddress.exec(header)
  const text = address?.[1] ? header : `http://${header}`
  if (!address || !URL.canParse(text)) return null
  const { host, port, protocol } = new URL(text)
  return port === '' ? [host, `${host}:${protocol === 'https:' ? 443 : 80}`] : [host]
}

/** Cache of parsed headers, because front ends send the same few values. Cleared when full, to bound memory. */
const parsed = new Map<string, readonly string[] | null>()
const maxParsed = 500
const maxParsedLength = 200

function hostsOf(header: string): readonly string[] | null {
  let hosts = parsed.get(header)
  if (hosts === undefined) {
    hosts = parseHosts(header)
    if (parsed.size >= maxParsed) parsed.clear()
    if (header.length <= maxParsedLength) parsed.set(header, hosts)
  }
  return hosts
}

/** Normalises an entry like URLs do: IPv6 in brackets and compressed. */
function canonicalEntry(entry: string): string {
  const name = entry.trim().toLowerCase()
  const [, host = name, port = ''] = isIPv6(name) ? ['', `[${name}]`] : (/^(.+?)(:\d+)?$/.exec(name) ?? [])
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname + port : name
}

/** Compiles an entry to a test. `*` matches within one host name. */
function matcherOf(entry: string): (host: string) => boolean {
  const host = entry.includes('*') ? entry.trim().toLowerCase() : canonicalEntry(entry)
  if (!host.includes('*')) return (candidate) => candidate === host
  const escaped = host.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^/:]+')
  const pattern = new RegExp(`^${escaped}$`)
  return (candidate) => pattern.test(candidate)
}

const matchers = new WeakMap<readonly string[], ((host: string) => boolean)[]>()

/** Compiled entries, cached per list because a reload brings a new one. */
function matchersOf(entries: readonly string[]): ((host: string) => boolean)[] {
  let found = matchers.get(entries)
  if (!found) {
    found = entries.filter((entry) => entry.trim() !== '').map(matcherOf)
    matchers.set(entries, found)
  }
  return found
}

/** Tests whether the URL's host[:port] matches an entry. */
export function isListed(url: string, entries: readonly string[]): boolean {
  const hosts = hostsOf(url)
  return hosts?.some((host) => matchersOf(entries).some((matches) => matches(host))) ?? false
}

/** Tests for a first-party front end by `Referer`, otherwise `Origin`. If both are present, both must match. */
export function isStateful({ referer, origin }: IncomingHttpHeaders, entries: readonly string[]): boolean {
  if (origin === 'null') return false
  if (referer && origin && hostsOf(referer)?.[0] !== hostsOf(origin)?.[0]) return false
  const source = referer || origin
  return source ? isListed(source, entries) : false
}
