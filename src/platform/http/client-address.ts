import type { IncomingMessage } from 'node:http'
import { isIP, isIPv4, isIPv6, SocketAddress } from 'node:net'

/**
 * Canonical form of an address: IPv4-mapped IPv6 as IPv4, IPv6 compressed and without a zone; null for any other text.
 */
export function canonicalAddress(text: string): string | null {
  const family = isIP(text)
  if (family === 4) return text
  if (family === 0) return null
  const [address = ''] = text.split('%')
  const spelled = new SocketAddress({ address, family: 'ipv6' }).address
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(spelled)?.[1] ?? spelled
}

/** Maximum number of forwarded hops that svc reads. No real proxy chain is longer. */
const maxHops = 32

/** Address of one hop of `X-Forwarded-For`, which may have a port or brackets; null for any other text. */
function hopAddress(hop: string): string | null {
  const [, bracketed, dotted] = /^(?:\[([^\]]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d{1,5})?$/.exec(hop) ?? []
  return canonicalAddress(bracketed ?? dotted ?? hop)
}

/**
 * Canonicalises `X-Forwarded-For` before Fastify reads it. A hop that is not an address ends the list: the proxy that
 * reported it is the last known sender, and a client may have written everything to its left.
 */
export function normaliseForwardedFor({ headers }: IncomingMessage): void {
  const header = headers['x-forwarded-for']
  if (typeof header !== 'string' || isIPv4(header)) return
  const known: string[] = []
  for (const hop of header.split(',').slice(-maxHops).reverse()) {
    const text = hop.trim()
    if (text === '') continue
    const address = hopAddress(text)
    if (address === null) break
    known.unshift(address)
  }
  headers['x-forwarded-for'] = known.join(', ')
}

/** Client address for limits, mails and pages. */
export const clientAddress = ({ ip }: { ip: string }): string => canonicalAddress(ip) ?? ip

/** Unit of rate limits: the IPv4 address, or the /64 network of an IPv6 address. */
export function limitedAddress(ip: string): string {
  const address = canonicalAddress(ip) ?? ip
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length
  const groups = [...left, ...Array<string>(Math.max(0, zeros)).fill('0'), ...right]
  return `${groups.slice(0, 4).join(':')}::/64`
}

/** Network of an address: the IPv4 /24 or the IPv6 /64. */
export const networkOf = (ip: string): string => limitedAddress(ip).replace(/^(\d+\.\d+\.\d+)\.\d+$/, '$1.0/24')
