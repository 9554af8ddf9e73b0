import { accountsOf } from '../../auth/accounts.ts'
import { deleteToken, ownerOfToken, pageOfTokens } from '../../auth/tokens/store.ts'
import { type EventContext, recordEvent } from '../../identity/events.ts'
import type { Tx } from '../../platform/database/database.ts'
import { notFound } from '../../platform/errors.ts'
import { endRemembered, endSession, listRemembered, listSessions, ownerOf, shownAt } from '../active-sessions/store.ts'
import { deletePersonalToken, listPersonalTokens, ownerOfPersonalToken } from '../oauth/applications/store.ts'
import { type Admin, lockForAdmin } from './admin.ts'

const isNumber = (id: string): boolean => /^\d{1,19}$/.test(id)

/** Runs a change with the owner locked; throws 404 if it returns false or there is no owner. */
async function change(
  admin: Admin,
  userId: number | null,
  what: string,
  work: (tx: Tx, userId: number) => Promise<boolean>,
): Promise<void> {
  const isDone =
    userId !== null &&
    (await admin.database.transaction(async (tx) => {
      await lockForAdmin(admin, tx, [userId])
      return work(tx, userId)
    }))
  if (!isDone) throw notFound(`${what} not found.`)
}

/** A page of the user's API tokens, oldest first. The last page ends with the personal access tokens. */
export async function tokensOf(
  { database }: Pick<Admin, 'database'>,
  userId: number,
  { after, limit, now }: { after: bigint; limit: number; now: number },
) {
  const found = await pageOfTokens(database, { userId, after, take: limit + 1 })
  const isLast = found.length <= limit
  const tokens = found.slice(0, limit).map(({ tokenable_type: _, tokenable_id: __, ...token }) => ({
    kind: 'api_token',
    ...token,
    id: String(token.id),
  }))
  const personal = (isLast ? await listPersonalTokens(database, userId, now) : []).map(({ scopes, ...token }) => ({
    kind: 'personal_access_token',
    ...token,
    abilities: scopes,
    last_used_at: null,
    updated_at: null,
  }))
  return { tokens: [...tokens, ...personal], isLast }
}

/** Revokes an API token (number) or a personal access token of any user. Throws 404 for an unknown id. */
export async function revokeToken(admin: Admin, origin: EventContext, id: string): Promise<void> {
  if (isNumber(id)) {
    await change(admin, await ownerOfToken(admin.database, BigInt(id)), 'Token', async (tx, userId) => {
      if (!(await deleteToken(tx, userId, BigInt(id)))) return false
      await recordEvent(tx, origin, { type: 'token_revoked', userId, data: { token_id: Number(id) } })
      return true
    })
    return
  }
  await change(admin, await ownerOfPersonalToken(admin.database, id), 'Token', async (tx, userId) => {
    if (!(await deletePersonalToken(tx, userId, id))) return false
    await recordEvent(tx, origin, { type: 'personal_token_revoked', userId, data: { token_id: id } })
    return true
  })
}

/** Revokes all API tokens and personal access tokens of a user. */
export async function revokeTokensOf(admin: Admin, origin: EventContext, userId: number): Promise<void> {
  await admin.database.transaction(async (tx) => {
    await lockForAdmin(admin, tx, [userId])
    await accountsOf(admin).revokeTokens(tx, userId)
    await recordEvent(tx, origin, { type: 'tokens_revoked', userId })
  })
}

/** The user's live sessions, then the remembered devices without one. */
export async function sessionsOf(admin: Admin, userId: number, now: number) {
  const shown = shownAt(admin.config, now)
  const sessions = await listSessions(admin.database, userId, { ...shown, current: '' })
  const devices = await listRemembered(admin.database, userId, shown)
  return [
    ...sessions.map(({ current: _, ...session }) => ({ kind: 'session', ...session })),
    ...devices.map((device) => ({ kind: 'remembered', ...device, created_at: null, impersonated: false })),
  ]
}

/** Ends a session (public id) or a remembered device (number) of any user. Throws 404 for an unknown id. */
export async function revokeSession(admin: Admin, origin: EventContext, id: string): Promise<void> {
  const { database, sessionListener } = admin
  await change(admin, await ownerOf(database, id), 'Session', async (tx, userId) => {
    const isEnded =
      (await endSession(sessionListener, tx, userId, id)) ||
      (isNumber(id) && (await endRemembered(sessionListener, tx, userId, BigInt(id))))
    if (isEnded) await recordEvent(tx, origin, { type: 'session_ended', userId })
    return isEnded
  })
}
