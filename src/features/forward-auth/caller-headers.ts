import { hasSignInFor } from '../../auth/access/abilities.ts'
import { type Caller, kindOf } from '../../auth/access/caller.ts'
import { groupsOf } from '../../identity/groups.ts'
import type { Config } from '../../platform/config/schema.ts'

/** Headers are ASCII, so other characters are percent-encoded. */
const ascii = (text: string): string => text.replace(/[^ -~]+|%/gu, (run) => encodeURIComponent(run.toWellFormed()))

/** The groups as one text. A role may contain the separator, which is percent-encoded then. */
const joined = (groups: readonly string[], separator: string): string | undefined =>
  groups.map((name) => ascii(name).replaceAll(separator, encodeURIComponent(separator))).join(separator) || undefined

/**
 * Returns the headers that describe the caller to a service. Null omits every header about the caller. Leaves out abilities
 * with a space, which would read as two.
 */
export function callerHeaders(caller: Caller | null, config: Pick<Config, 'guard' | 'groups'>): Record<string, string> {
  if (!caller) return {}
  const { headers, remote_user, groups_separator } = config.guard
  const { user } = caller
  const email = user?.email_verified_at ? user.email : undefined
  const id = user ? String(user.id) : undefined
  const values: Record<keyof typeof headers, string | undefined> = {
    user: remote_user === 'email' ? email : id,
    email,
    name: user?.name,
    groups: joined(user ? groupsOf(user, config) : [], groups_separator),
    user_id: id,
    abilities: caller.abilities.filter((name) => !name.includes(' ') && hasSignInFor(caller, name)).join(' '),
    actor: caller.actor,
    credential: `${kindOf(caller)} ${caller.credentialId}`,
  }
  const named: Record<string, string> = {}
  for (const [key, name] of Object.entries(headers)) {
    const value = values[key as keyof typeof headers]
    if (name !== null && value !== undefined) named[name] = key === 'groups' ? value : ascii(value)
  }
  return named
}
