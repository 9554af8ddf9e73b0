import { isIP } from 'node:net'
import { getPublicSuffix } from 'tldts'

/** Whether a URL's hostname is this machine itself. */
export function isLoopback(hostname: string): boolean {
  const host = withoutBrackets(hostname)
  return (
    host === 'localhost' ||
    host.endsWith('.localhost') ||
    host === '::1' ||
    (isIP(host) === 4 && host.startsWith('127.'))
  )
}

/** Whether anybody may register names under this one, so that a cookie or passkey must never be bound to it. */
export function isPublicSuffix(domain: string): boolean {
  return getPublicSuffix(domain, { allowPrivateDomains: true }) === domain
}

/** Whether a host is the domain itself or a name below it. */
export function isWithin(host: string, domain: string): boolean {
  return host === domain || (isIP(withoutBrackets(host)) === 0 && host.endsWith(`.${domain}`))
}

/** The longest domain that contains both hosts and is not a public suffix; the first host when there is none. */
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
