import type { Config } from '../config/schema.ts'
import { validationFailed } from '../errors.ts'
import { asciiDomain } from './formats.ts'

/** Tests whether an address may have an account by `registration.allowed_domains`. */
export function isAllowedDomain({ registration }: Config, email: string): boolean {
  const { allowed_domains: allowed } = registration
  if (allowed === null) return true
  const domain = asciiDomain(email.slice(email.lastIndexOf('@') + 1))
  return allowed.some((pattern) =>
    pattern.startsWith('*.') ? domain.endsWith(`.${asciiDomain(pattern.slice(2))}`) : domain === asciiDomain(pattern),
  )
}

/** Throws 422 for an address that may not have an account. */
export function requireAllowedDomain(config: Config, email: string): void {
  if (isAllowedDomain(config, email)) return
  const domains = config.registration.allowed_domains?.join(', ') ?? ''
  throw validationFailed({ email: [`The email must be an address at: ${domains}`] })
}
