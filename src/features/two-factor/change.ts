import type { Visit } from '../../auth/access/visit.ts'
import { requireStillSignedIn } from '../../auth/sign-in/still-signed-in.ts'
import { recordEvent } from '../../identity/events.ts'
import { notify } from '../../identity/notices.ts'
import { clearTwoFactor, findTwoFactor, replaceRecoveryCodes, replaceTwoFactor } from '../../identity/two-factor.ts'
import type { User } from '../../identity/user.ts'

/**
 * Creates a secret and recovery codes, unconfirmed, if the user has none. `replace` also replaces an unconfirmed factor, or
 * any.
 */
export async function enable(visit: Visit, user: User, replace: 'none' | 'unconfirmed' | 'any'): Promise<void> {
  const { database, secondFactor } = visit.app
  const stored = await findTwoFactor(database, user.id)
  if (!stored) return
  const isReplaced = replace === 'any' || (replace === 'unconfirmed' && !stored.confirmed)
  if (stored.secret !== null && !isReplaced) return
  const fresh = secondFactor.fresh(user.id)
  await database.transaction(async (tx) => {
    // The second of two concurrent calls keeps the secret of the first, and a confirmation meanwhile keeps its own.
    if (!(await replaceTwoFactor(tx, user.id, stored, fresh))) return
    await requireStillSignedIn(tx, visit)
    const data = { force: replace === 'any' }
    await recordEvent(tx, visit.origin, { type: 'two_factor_enabled', userId: user.id, data })
    // A password alone signs in until the user confirms the new factor.
    if (stored.confirmed) await notify(visit.app, tx, visit.origin, user, 'two_factor_disabled')
  })
}

/** Removes the second factor. Does nothing without one. */
export async function disable(visit: Visit, user: User): Promise<void> {
  await visit.app.database.transaction(async (tx) => {
    if (!(await clearTwoFactor(tx, user.id))) return
    await requireStillSignedIn(tx, visit)
    await recordEvent(tx, visit.origin, { type: 'two_factor_disabled', userId: user.id })
    await notify(visit.app, tx, visit.origin, user, 'two_factor_disabled')
  })
}

/** Replaces the recovery codes. Does nothing without a second factor. */
export async function regenerate(visit: Visit, user: User): Promise<void> {
  const { database, secondFactor } = visit.app
  const found = (await findTwoFactor(database, user.id))?.recoveryCodes
  if (!found) return
  const fresh = secondFactor.freshRecoveryCodes(user.id)
  await database.transaction(async (tx) => {
    if (!(await replaceRecoveryCodes(tx, user.id, found, fresh))) return
    await requireStillSignedIn(tx, visit)
    await recordEvent(tx, visit.origin, { type: 'recovery_codes_generated', userId: user.id })
    await notify(visit.app, tx, visit.origin, user, 'recovery_codes_generated')
  })
}
