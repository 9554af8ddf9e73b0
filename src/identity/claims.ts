import type { UserClaim } from '../platform/config/sections/user-claims.ts'
import type { User } from './user.ts'

/**
 * Claims about a user that the configuration adds to tokens. An address is included only if it is verified, so that a
 * consumer can use it without reading `email_verified`.
 */
export function claimsAbout(
  user: User,
  names: readonly UserClaim[],
): Partial<Record<UserClaim, string | number | boolean>> {
  const isVerified = user.email_verified_at !== null
  const hasEmail = names.includes('email') && isVerified
  const all = {
    role: user.role,
    name: user.name,
    preferred_username: hasEmail ? user.email : String(user.id),
    updated_at: Math.floor(Date.parse(user.updated_at) / 1000),
    email_verified: isVerified,
  }
  return {
    ...Object.fromEntries(names.flatMap((name) => (name === 'email' ? [] : [[name, all[name]]]))),
    ...(hasEmail ? { email: user.email, email_verified: true } : {}),
  }
}
