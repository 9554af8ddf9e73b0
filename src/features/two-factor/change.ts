import type { FastifyRequest } from 'fastify'
import { requireStillSignedIn } from '../../login/still-signed-in.ts'
import { eventContext, recordEvent } from '../../users/events.ts'
import { notify } from '../../users/notices.ts'
import { clearTwoFactor, findTwoFactor, replaceRecoveryCodes, replaceTwoFactor } from '../../users/two-factor.ts'
import type { User } from '../../users/user.ts'

/** Gives the user a new secret and recovery codes, unconfirmed; without `force` only where there are none. */
export async function enable(request: FastifyRequest, user: User, force: boolean): Promise<void> {
  const { database, secondFactor } = request.server
  const stored = await findTwoFactor(database, user.id)
  if (!stored || (stored.secret !== null && !force)) return
  const fresh = secondFactor.fresh(user.id)
  await database.transaction(async (tx) => {
    // Of two that enable at once, the second finds what the first put there: one QR code is the right one.
    if (!(await replaceTwoFactor(tx, user.id, stored.secret, fresh))) return
    await requireStillSignedIn(tx, request)
    await recordEvent(tx, eventContext(request), { type: 'two_factor_enabled', userId: user.id, data: { force } })
    // Until the new one is confirmed a password alone signs in: the user is to know.
    if (stored.confirmed) await notify(request.server, tx, eventContext(request), user, 'two_factor_disabled')
  })
}

/** Takes the second factor away; nothing happens where there is none. */
export async function disable(request: FastifyRequest, user: User): Promise<void> {
  await request.server.database.transaction(async (tx) => {
    if (!(await clearTwoFactor(tx, user.id))) return
    await requireStillSignedIn(tx, request)
    await recordEvent(tx, eventContext(request), { type: 'two_factor_disabled', userId: user.id })
    await notify(request.server, tx, eventContext(request), user, 'two_factor_disabled')
  })
}

/** Replaces the recovery codes; nothing happens where there is no second factor. */
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
