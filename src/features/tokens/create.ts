import type { FastifyRequest } from 'fastify'
import { hasAdminRole } from '../../access/administrators.ts'
import { callerOf } from '../../access/caller.ts'
import { adminScope } from '../../config/sections/admin.ts'
import { invalidAbility } from '../../errors.ts'
import type { Static } from '../../json-schema.ts'
import { requireRecentPassword } from '../../login/recent-password.ts'
import { decideGrant, issueToken, tokenOwner } from '../../tokens/issue.ts'
import type { NewAccessToken } from '../../tokens/store.ts'
import type { CreateTokenBody } from './schemas.ts'

/**
 * Throws 403 or 423 if a session may not create a token with `svc:admin`. Otherwise, such a token would replace the password
 * confirmation of administrators.
 */
function requireAdministratorFor(request: FastifyRequest, abilities: readonly string[]): void {
  const caller = callerOf(request)
  if (caller.kind !== 'session' || !abilities.includes(adminScope)) return
  if (!hasAdminRole(caller.user, request.server.config.current())) throw invalidAbility()
  requireRecentPassword(request)
}

/** Creates an API token for the caller, with at most its own abilities, and mails a notice. */
export async function createApiToken(
  request: FastifyRequest,
  { token_name: name, abilities = null, expires_at: expiresAt = null }: Static<typeof CreateTokenBody>,
): Promise<NewAccessToken> {
  const { config, clock } = request.server
  const caller = callerOf(request)
  const { default_abilities } = config.current().tokens
  requireAdministratorFor(request, abilities ?? [])
  const grant = decideGrant({ name, abilities, expiresAt }, caller, default_abilities, clock.now())
  return issueToken(request, tokenOwner(caller), name, grant)
}
