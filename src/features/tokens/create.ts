import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { callerOf } from '../../access/caller.ts'
import { decideGrant, issueToken, tokenOwner } from '../../tokens/issue.ts'
import type { NewAccessToken } from '../../tokens/store.ts'
import type { CreateTokenBody } from './schemas.ts'

/** Creates an API token for the caller, with at most its own abilities, and mails a notice. */
export async function createApiToken(
  request: FastifyRequest,
  { token_name: name, abilities = null, expires_at: expiresAt = null }: Static<typeof CreateTokenBody>,
): Promise<NewAccessToken> {
  const { config, clock } = request.server
  const caller = callerOf(request)
  const { default_abilities } = config.current().tokens
  const grant = decideGrant({ name, abilities, expiresAt }, caller, default_abilities, clock.now())
  return issueToken(request, tokenOwner(caller), name, grant)
}
