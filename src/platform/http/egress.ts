import { isIP } from 'node:net'
import { isLoopback } from '../config/hosts.ts'
import type { Config } from '../config/schema.ts'
import { AddressRanges } from './addresses.ts'

/**
 * Returns the URL of the proxy for calls to a host (a name, or an address without brackets) and a port; null for a direct
 * call. An entry of `no_proxy` is `*`, a name with its subdomains, `.name` for the subdomains only, an address, or a
 * range, with an optional port, as in Go and curl. Calls to this machine are always direct.
 */
export function proxyFor({ proxy, no_proxy }: Config['outbound'], host: string, port: string): string | null {
  if (proxy === null || isLoopback(host)) return null
  return no_proxy.some((entry) => isExempt(entry.toLowerCase(), host.toLowerCase(), port)) ? null : proxy
}

function isExempt(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true
  if (isIP(host) !== 0) {
    const range = entry.replace(/^\[(.*)\]/, '$1')
    if (isIP(range.split('/')[0] ?? '') !== 0) return new AddressRanges([range]).has(host)
  }
  const [, name = '', ofPort] = /^\*?(.*?)(?::(\d+))?$/.exec(entry.replace(/^\[(.*)\]/, '$1')) ?? []
  if (name === '' || (ofPort !== undefined && ofPort !== port)) return false
  return name.startsWith('.') ? host.endsWith(name) : host === name || host.endsWith(`.${name}`)
}
