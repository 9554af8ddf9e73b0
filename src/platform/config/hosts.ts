import { isIP } from 'node:net'
import { getPublicSuffix } from 'tldts'

/** Tests whether a hostname is a loopback host. */
export function isLoopback(hostname: string): boolean {
  const host = withoutBrackets(hostname)
  return (
    host === 'localhost' ||
    host.endsWith('.localhost') ||
    host === '::1' ||
    (isIP(host) === 4 && host.startsWith('127.'))
  )
}

/** Tests for a public suffix, such as `co.uk`, where anyone can register names. svc must not trust all hosts below one. */
export function isPublicSuffix(domain: string): boolean {
  return getPublicSuffix(domain, { allowPrivateDomains: true }) === domain
}

/** Tests whether a host is the domain or one of its subdomains. */
export function isWithin(host: string, domain: string): boolean {
  return host === domain || (isIP(withoutBrackets(host)) === 0 && host.endsWith(`.${domain}`))
}

/** Returns the most specific domain that contains both hosts and is not a public suffix, or the first host. */
export function commonDomain(first: string, second: string): string {
  const labels = first.split('.')
  for (let from = 0; from < labels.length; from++) {
    const domain = labels.slice(from).join('.')
    if (isWithin(second, domain)) return isPublicSuffix(domain) ? first : domain
  }
  return first
}

function withoutBrackets(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}
