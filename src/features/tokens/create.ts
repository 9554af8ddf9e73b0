import { hasAdminRole } from '../../auth/access/administrators.ts'
import { callerOf } from '../../auth/access/caller.ts'
import type { Visit } from '../../auth/access/visit.ts'
import { requireRecentPassword } from '../../auth/sign-in/recent-password.ts'
import { decideGrant, issueToken, tokenOwner } from '../../auth/tokens/issue.ts'
import type { NewAccessToken } from '../../auth/tokens/store.ts'
import { isManagementScope } from '../../platform/config/sections/admin.ts'
import { invalidAbility } from '../../platform/errors.ts'
import type { Static } from '../../platform/json-schema.ts'
import type { CreateTokenBody } from './schemas.ts'

/**
 * Throws 403 or 423 if a session may not create a token with a management scope. Otherwise, such a token would replace the password
 * confirmation of administrators.
 */
function requireAdministratorFor(visit: Visit, abilities: readonly string[]): void {
  const caller = callerOf(visit)
  if (caller.kind !== 'session' || !abilities.some(isManagementScope)) return
  if (!hasAdminRole(caller.user, visit.app.config.current())) throw invalidAbility()
  requireRecentPassword(visit)
}

/** Creates an API token for the caller, with at most its own abilities, and mails a notice. */
export async function createApiToken(
  visit: Visit,
  { token_name: name, abilities = null, expires_at: expiresAt = null }: Static<typeof CreateTokenBody>,
): Promise<NewAccessToken> {
  const { config, clock } = visit.app
  const caller = callerOf(visit)
  const { default_abilities } = config.current().tokens
  requireAdministratorFor(visit, abilities ?? [])
  const grant = decideGrant({ name, abilities, expiresAt }, caller, default_abilities, clock.now())
  return issueToken(visit, tokenOwner(caller), name, grant)
}
