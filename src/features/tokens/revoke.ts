import type { Caller } from '../../access/caller.ts'
import { HttpError, notFound, unauthenticated } from '../../errors.ts'
import type { Database } from '../../plugins/database/database.ts'
import { type Origin, recordEvent } from '../../users/events.ts'
import { lockUser } from '../../users/lock.ts'
import { tokenOwner } from './issue.ts'
import { deleteToken, deleteTokens } from './store.ts'

/** Revokes one token of the user: gone with the answer. Throws 404 when the user has none of this id. */
export async function revokeToken(db: Database, userId: number, id: bigint, origin: Origin): Promise<void> {
  if (!(await revoke(db, userId, id, origin))) throw notFound('Token not found.')
}

/** Revokes one token of the user; false when the user has none of this id. */
export function revoke(db: Database, userId: number, id: bigint, origin: Origin): Promise<boolean> {
  return db.transaction(async (tx) => {
    await lockUser(db, tx, userId)
    const isDeleted = await deleteToken(tx, userId, id)
    if (isDeleted) await recordEvent(tx, origin, { type: 'token_revoked', userId, data: { token_id: Number(id) } })
    return isDeleted
  })
}

/** Revokes every token of the user. */
export async function revokeTokens(db: Database, userId: number, origin: Origin): Promise<void> {
  await db.transaction(async (tx) => {
    await lockUser(db, tx, userId)
    const count = await deleteTokens(tx, userId)
    if (count > 0) await recordEvent(tx, origin, { type: 'tokens_revoked', userId, data: { count } })
  })
}

/** Revokes the token that authenticates the request; with a session there is none to revoke (409). */
export async function revokeCurrent(db: Database, caller: Caller, origin: Origin): Promise<void> {
  const userId = tokenOwner(caller)
  if (caller.kind !== 'api_token') {
    throw new HttpError(409, 'no_current_token', 'The request was not authenticated by a token.')
  }
  // Revoked by somebody else since the guard let it in: by now it is no credential.
  if (!(await revoke(db, userId, BigInt(caller.credentialId), origin))) throw unauthenticated('invalid')
}
