import type { FastifyRequest } from 'fastify'
import { eventContext, recordEvent } from '../../identity/events.ts'
import { lockUser } from '../../identity/lock.ts'
import { notFound } from '../../platform/errors.ts'
import { deleteToken, deleteTokens } from './store.ts'

/** Revokes a token of the user; false if the user has no token with this id. */
export function revokeToken(request: FastifyRequest, userId: number, id: bigint): Promise<boolean> {
  const { database } = request.server
  return database.transaction(async (tx) => {
    await lockUser(database, tx, userId)
    const isDeleted = await deleteToken(tx, userId, id)
    if (!isDeleted) return false
    await recordEvent(tx, eventContext(request), { type: 'token_revoked', userId, data: { token_id: Number(id) } })
    return true
  })
}

/** Revokes a token of the user. Throws 404 if the user has no token with this id. */
export async function requireRevoked(request: FastifyRequest, userId: number, id: bigint): Promise<void> {
  if (!(await revokeToken(request, userId, id))) throw notFound('Token not found.')
}

/** Revokes every token of the user. */
export async function revokeTokens(request: FastifyRequest, userId: number): Promise<void> {
  const { database } = request.server
  await database.transaction(async (tx) => {
    await lockUser(database, tx, userId)
    const count = await deleteTokens(tx, userId)
    if (count > 0) await recordEvent(tx, eventContext(request), { type: 'tokens_revoked', userId, data: { count } })
  })
}
