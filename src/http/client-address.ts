import type { IncomingMessage } from 'node:http'
import { isIP, isIPv6, SocketAddress } from 'node:net'
import type { FastifyRequest } from 'fastify'

/** The address in its one spelling: IPv4-mapped IPv6 as IPv4, IPv6 compressed and without a zone; null for any other text. */
export function canonicalAddress(text: string): string | null {
  const family = isIP(text)
  if (family === 4) return text
  if (family === 0) return null
  const [address = ''] = text.split('%')
  const spelled = new SocketAddress({ address, family: 'ipv6' }).address
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(spelled)?.[1] ?? spelled
}

/** No chain of proxies is longer; what a client sends beyond it is not worth reading. */
const maxHops = 32

/** The address of one hop of `X-Forwarded-For`, which some proxies write with a port or in brackets; null for any other text. */
function hopAddress(hop: string): string | null {
  const [, bracketed, dotted] = /^(?:\[([^\]]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d{1,5})?$/.exec(hop) ?? []
  return canonicalAddress(bracketed ?? dotted ?? hop)
}

/**
 * Rewrites `X-Forwarded-For` before the framework reads it, so that each hop is an address in its one spelling.
 * A hop that is not an address ends the list: the proxy that reported it is the last known sender, and everything
 * further left may come from the client.
 */
export function normaliseForwardedFor({ headers }: IncomingMessage): void {
  const header = headers['x-forwarded-for']
  if (typeof header !== 'string') return
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

/** The client's address, as limits count it and mails and pages show it. */
export const clientAddress = ({ ip }: Pick<FastifyRequest, 'ip'>): string => canonicalAddress(ip) ?? ip

/** The unit by which clients are limited: the IPv4 address, or the /64 that one IPv6 customer holds. */
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

/** The network that an address belongs to: the /24 of an IPv4 address, the /64 of an IPv6 address. */
export const networkOf = (ip: string): string => limitedAddress(ip).replace(/^(\d+\.\d+\.\d+)\.\d+$/, '$1.0/24')
