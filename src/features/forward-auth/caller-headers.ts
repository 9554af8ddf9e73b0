import { hasSignInFor } from '../../auth/access/abilities.ts'
import { type Caller, kindOf } from '../../auth/access/caller.ts'
import type { Config } from '../../platform/config/schema.ts'

/** Headers are ASCII, so other characters are percent-encoded. */
const ascii = (text: string): string => text.replace(/[^ -~]+|%/gu, (run) => encodeURIComponent(run.toWellFormed()))

/**
 * Returns the headers that describe the caller to a service. Null omits every header about the caller. Leaves out abilities
 * with a space, which would read as two.
 */
export function callerHeaders(
  caller: Caller | null,
  { headers, remote_user }: Config['guard'],
): Record<string, string> {
  if (!caller) return {}
  const { user } = caller
  const email = user?.email_verified_at ? user.email : undefined
  const id = user ? String(user.id) : undefined
  const values: Record<keyof typeof headers, string | undefined> = {
    user: remote_user === 'email' ? email : id,
    email,
    name: user?.name,
    groups: user?.role,
    user_id: id,
    abilities: caller.abilities.filter((name) => !name.includes(' ') && hasSignInFor(caller, name)).join(' '),
    actor: caller.kind === 'session' ? undefined : caller.actor,
    credential: `${kindOf(caller)} ${caller.credentialId}`,
  }
  const named: Record<string, string> = {}
  for (const [key, name] of Object.entries(headers)) {
    const value = values[key as keyof typeof headers]
    if (name !== null && value !== undefined) named[name] = ascii(value)
  }
  return named
}
