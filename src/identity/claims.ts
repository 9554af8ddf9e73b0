import type { Config } from '../platform/config/schema.ts'
import type { UserClaim } from '../platform/config/sections/user-claims.ts'
import { groupsOf } from './groups.ts'
import type { User } from './user.ts'

/**
 * Claims about a user that the configuration adds to tokens. An address is included only if it is verified, so that a
 * consumer can use it without reading `email_verified`.
 */
export function claimsAbout(
  user: User,
  config: Pick<Config, 'groups'>,
  names: readonly UserClaim[],
): Partial<Record<UserClaim, string | number | boolean | readonly string[]>> {
  const isVerified = user.email_verified_at !== null
  const hasEmail = names.includes('email') && isVerified
  const all = {
    role: user.role,
    groups: groupsOf(user, config),
    name: user.name,
    preferred_username: user.username,
    updated_at: Math.floor(Date.parse(user.updated_at) / 1000),
    email_verified: isVerified,
  }
  return {
    ...Object.fromEntries(names.flatMap((name) => (name === 'email' ? [] : [[name, all[name]]]))),
    ...(hasEmail ? { email: user.email, email_verified: true } : {}),
  }
}
