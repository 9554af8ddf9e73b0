import type { Config } from '../platform/config/schema.ts'
import type { UserClaim } from '../platform/config/sections/user-claims.ts'
import { groupsOf } from './groups.ts'
import type { User } from './user.ts'

type ClaimRule = Config['claims'][number]

/** Whom a token is for. */
interface Receiver {
  client: string | undefined
  /** Name of the API in `apis`; null for ID tokens and UserInfo. */
  api: string | null
}

/** The value that a rule reads, before its map. */
function sourceOf(user: User, config: Pick<Config, 'groups'>, from: string, { client, api }: Receiver): unknown {
  if (from === 'groups') return groupsOf(user, config)
  if (from === 'role') return user.role
  if (from === 'username') return user.username
  if (from === 'client') return client
  return from === 'api' ? api : user.fields?.[from.slice('fields.'.length)]
}

function valueOfRule(user: User, config: Pick<Config, 'groups'>, rule: ClaimRule, receiver: Receiver): unknown {
  if (rule.from === null) return rule.value
  const source = sourceOf(user, config, rule.from, receiver)
  const mapping = Object.entries(rule.map)
  if (mapping.length === 0) return source ?? rule.default
  const held = new Set([source].flat().map(String))
  const found = mapping.filter(([key]) => held.has(key)).map(([, value]) => value)
  if (found.length === 0) return rule.default
  return Array.isArray(source) && !rule.first ? [...new Set(found)] : found[0]
}

/** The claims of the section `claims` for a client, or for an API. */
export const composedClaims = (
  user: User,
  config: Pick<Config, 'groups' | 'claims'>,
  receiver: Receiver,
): Record<string, unknown> =>
  Object.fromEntries(
    config.claims.flatMap((rule) => {
      const { client, api } = receiver
      const isFor = api === null ? client !== undefined && rule.clients.includes(client) : rule.apis.includes(api)
      const value = isFor ? valueOfRule(user, config, rule, receiver) : null
      return value === null || value === undefined ? [] : [[rule.claim, value]]
    }),
  )

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
