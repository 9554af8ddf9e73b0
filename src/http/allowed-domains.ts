import { domainToASCII } from 'node:url'
import type { Config } from '../config/schema.ts'
import { validationFailed } from '../errors.ts'

/** Returns a domain in the form for comparisons: ASCII, lower case. */
const asciiOf = (domain: string): string => domainToASCII(domain.normalize('NFKC')).toLowerCase()

/** Tests whether an address may have an account by `registration.allowed_domains`. */
export function isAllowedDomain({ registration }: Config, email: string): boolean {
  const { allowed_domains: allowed } = registration
  if (allowed === null) return true
  const domain = asciiOf(email.slice(email.lastIndexOf('@') + 1))
  return allowed.some((pattern) =>
    pattern.startsWith('*.') ? domain.endsWith(`.${asciiOf(pattern.slice(2))}`) : domain === asciiOf(pattern),
  )
}

/** Throws 422 for an address that may not have an account. */
export function requireAllowedDomain(config: Config, email: string): void {
  if (isAllowedDomain(config, email)) return
  const domains = config.registration.allowed_domains?.join(', ') ?? ''
  throw validationFailed({ email: [`The email must be an address at: ${domains}`] })
}
