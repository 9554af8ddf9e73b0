import type { FastifyRequest } from 'fastify'
import { requireStillSignedIn } from '../../auth/sign-in/still-signed-in.ts'
import { eventContext, recordEvent } from '../../identity/events.ts'
import { notify } from '../../identity/notices.ts'
import { clearTwoFactor, findTwoFactor, replaceRecoveryCodes, replaceTwoFactor } from '../../identity/two-factor.ts'
import type { User } from '../../identity/user.ts'

/**
 * Creates a secret and recovery codes, unconfirmed, if the user has none. `replace` also replaces an unconfirmed factor, or
 * any.
 */
export async function enable(
  request: FastifyRequest,
  user: User,
  replace: 'none' | 'unconfirmed' | 'any',
): Promise<void> {
  const { database, secondFactor } = request.server
  const stored = await findTwoFactor(database, user.id)
  if (!stored) return
  const isReplaced = replace === 'any' || (replace === 'unconfirmed' && !stored.confirmed)
  if (stored.secret !== null && !isReplaced) return
  const fresh = secondFactor.fresh(user.id)
  await database.transaction(async (tx) => {
    // The second of two concurrent calls keeps the secret of the first, and a confirmation meanwhile keeps its own.
    if (!(await replaceTwoFactor(tx, user.id, stored, fresh))) return
    await requireStillSignedIn(tx, request)
    const data = { force: replace === 'any' }
    await recordEvent(tx, eventContext(request), { type: 'two_factor_enabled', userId: user.id, data })
    // A password alone signs in until the user confirms the new factor.
    if (stored.confirmed) await notify(request.server, tx, eventContext(request), user, 'two_factor_disabled')
  })
}

/** Removes the second factor. Does nothing without one. */
export async function disable(request: FastifyRequest, user: User): Promise<void> {
  await request.server.database.transaction(async (tx) => {
    if (!(await clearTwoFactor(tx, user.id))) return
    await requireStillSignedIn(tx, request)
    await recordEvent(tx, eventContext(request), { type: 'two_factor_disabled', userId: user.id })
    await notify(request.server, tx, eventContext(request), user, 'two_factor_disabled')
  })
}

/** Replaces the recovery codes. Does nothing without a second factor. */
export async function regenerate(request: FastifyRequest, user: User): Promise<void> {
  const { database, secondFactor } = request.server
  const found = (await findTwoFactor(database, user.id))?.recoveryCodes
  if (!found) return
  const fresh = secondFactor.freshRecoveryCodes(user.id)
  await database.transaction(async (tx) => {
    if (!(await replaceRecoveryCodes(tx, user.id, found, fresh))) return
    await requireStillSignedIn(tx, request)
    await recordEvent(tx, eventContext(request), { type: 'recovery_codes_generated', userId: user.id })
    await notify(request.server, tx, eventContext(request), user, 'recovery_codes_generated')
  })
}
