import type { FastifyRequest } from 'fastify'
import type { Caller } from '../../access/caller.ts'
import { forbidden, invalidAbility, unauthenticated, validationFailed } from '../../errors.ts'
import type { Door } from '../../login/login-limiter.ts'
import { millisecondsOf } from '../../plugins/formats.ts'
import { originOf, recordEvent } from '../../users/events.ts'
import { notify } from '../../users/notices.ts'
import { findUserById } from '../../users/users.ts'
import { createToken, holdProof, type NewAccessToken, type Proof } from './store.ts'

/** What a caller wishes of a new token. */
export interface TokenWish {
  name: string
  abilities: readonly string[] | null
  expiresAt: string | null
}

/** What a new token may be. */
export interface TokenGrant {
  abilities: readonly string[]
  expiresAt: number | null
  /** What the grant rests on. */
  proof: Proof
  /** Where somebody signed in to get it, if they did. */
  door?: Door
}

/**
 * What the caller may have of its wish: a token passes on only abilities that it has and no later end than its own.
 * Throws 403 for more abilities, 422 for a date that is past or later than the caller's own end.
 */
export function decideGrant(wish: TokenWish, caller: Caller, defaults: readonly string[], now: number): TokenGrant {
  const narrow = caller.kind === 'session' ? null : caller
  const abilities = wish.abilities ?? (narrow ? narrow.abilities : defaults)
  if (narrow && !abilities.every((ability) => narrow.can(ability))) throw invalidAbility()

  const own = narrow?.expiresAt ?? null
  const wished = wish.expiresAt === null ? null : millisecondsOf(wish.expiresAt)
  if (wished !== null && wished <= now) {
    throw validationFailed({ expires_at: ['The expires at field must be a date after now.'] })
  }
  if (wished !== null && own !== null && wished > own) {
    throw validationFailed({ expires_at: ['The expires at field must not be later than the end of the token in use.'] })
  }
  const proof = narrow ? { token: BigInt(narrow.credentialId) } : { session: caller.credentialId }
  return { abilities, expiresAt: wished ?? own, proof }
}

/** Only sessions and API tokens manage API tokens: 403 for an OAuth JWT and for a machine. */
export function tokenOwner(caller: Caller): number {
  if (!caller.user || (caller.kind !== 'session' && caller.kind !== 'api_token')) throw forbidden()
  return caller.user.id
}

/** Issues a token to a user and records it; throws 401 when what the grant rests on is gone meanwhile. */
export function issueToken(
  request: FastifyRequest,
  userId: number,
  name: string,
  grant: TokenGrant,
): Promise<NewAccessToken> {
  const { database, clock, config } = request.server
  const expiresAt = grant.expiresAt === null ? null : new Date(grant.expiresAt)
  const { prefix } = config.current().tokens
  return database.transaction(async (tx) => {
    if (!(await holdProof(database, tx, userId, grant.proof))) {
      throw unauthenticated('token' in grant.proof ? 'invalid' : 'absent')
    }
    const facts = { userId, name, abilities: grant.abilities, expiresAt, prefix, now: clock.now() }
    const created = await createToken(tx, facts)
    await recordEvent(tx, originOf(request), {
      type: 'token_created',
      userId,
      data: { token_id: created.accessToken.id, name, ...(grant.door ? { door: grant.door } : {}) },
    })
    const owner = await findUserById({ prisma: tx }, userId)
    if (owner) await notify(request.server, tx, originOf(request), owner.user, 'token_created')
    return created
  })
}
