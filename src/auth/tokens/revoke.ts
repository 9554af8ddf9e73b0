import { recordEvent } from '../../identity/events.ts'
import { lockUser } from '../../identity/lock.ts'
import { notFound } from '../../platform/errors.ts'
import type { Act } from '../access/visit.ts'
import { deleteToken, deleteTokens } from './store.ts'

/** Revokes a token of the user; false if the user has no token with this id. */
export function revokeToken(act: Act, userId: number, id: bigint): Promise<boolean> {
  const { database } = act.app
  return database.transaction(async (tx) => {
    await lockUser(database, tx, userId)
    const isDeleted = await deleteToken(tx, userId, id)
    if (!isDeleted) return false
    await recordEvent(tx, act.origin, { type: 'token_revoked', userId, data: { token_id: Number(id) } })
    return true
  })
}

/** Revokes a token of the user. Throws 404 if the user has no token with this id. */
export async function requireRevoked(act: Act, userId: number, id: bigint): Promise<void> {
  if (!(await revokeToken(act, userId, id))) throw notFound('Token not found.')
}

/** Revokes every token of the user. */
export async function revokeTokens(act: Act, userId: number): Promise<void> {
  const { database } = act.app
  await database.transaction(async (tx) => {
    await lockUser(database, tx, userId)
    const count = await deleteTokens(tx, userId)
    if (count > 0) await recordEvent(tx, act.origin, { type: 'tokens_revoked', userId, data: { count } })
  })
}
