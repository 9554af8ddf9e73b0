import { isIPv4 } from 'node:net'

const label = '[a-z\\d_](?:[a-z\\d_-]*[a-z\\d_])?'
const hostName = new RegExp(`^${label}(?:\\.${label})*$`)

/** `api.example.com`, `*.example.com` and `[fd00::1]`, each with an optional port. */
export function isHostPattern(text: string): boolean {
  const [, name = '', port] = /^(.*?)(?::(\d+))?$/.exec(text.toLowerCase()) ?? []
  return parseHost(name.replace(/^\*\./, '')) !== null && (port === undefined || isPort(port))
}

const isPort = (text: string): boolean => /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535

/** Host and port of a request or a pattern. */
export interface Host {
  /** In lower case, without a trailing dot; IPv6 in brackets. */
  name: string
  /** Null if it is not given. */
  port: string | null
}

/** Parses the host of a request; null if servers could read it in different ways. */
export function parseHost(text: string): Host | null {
  const [, given = '', port = null] = /^(\[[\d.:a-f]+\]|[^:]+)(?::(.*))?$/i.exec(text) ?? []
  if (port !== null && !isPort(port)) return null
  const name = given.toLowerCase().replace(/\.$/, '')
  if (name.length > 253) return null
  if (name.startsWith('['))
    return URL.canParse(`http://${name}`) ? { name: new URL(`http://${name}`).hostname, port } : null
  // A name that ends with a number is an IPv4 address, which has several spellings.
  const isNumeric = /(?:^|\.)(?:\d+|0x[\da-f]*)$/.test(name)
  if (!hostName.test(name) || (isNumeric && !isIPv4(name))) return null
  return { name, port }
}

/** Keys of the patterns that match a host, for lookup in a map. */
export function keysOf({ name, port }: Host): string[] {
  const wildcard = /^[a-z\d_-]+(\..+)$/.exec(name)
  const names = [name, ...(wildcard && !isIPv4(name) ? [`*${wildcard[1]}`] : [])]
  return [...names, ...(port === null ? [] : names.map((each) => `${each}:${port}`))]
}

/** Normalises a valid pattern to its key. */
export const patternKey = (pattern: string): string => pattern.toLowerCase().replace(/\.(?=:\d+$|$)/, '')

/** Returns the keys of the patterns that match every host that this valid pattern matches. */
export function coveringKeys(pattern: string): string[] {
  const key = patternKey(pattern)
  const host = parseHost(key.replace(/^\*\./, ''))
  if (!host) return [key]
  if (!key.startsWith('*.')) return keysOf(host)
  return host.port === null ? [key] : [key, `*.${host.name}`]
}
