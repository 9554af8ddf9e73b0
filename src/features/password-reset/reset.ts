import type { FastifyRequest } from 'fastify'
import type { Tx } from '../../database/database.ts'
import { type FieldErrors, validationFailed } from '../../errors.ts'
import { newPasswordErrors } from '../../http/new-password.ts'
import { endSessionsOf } from '../../login/end-sessions.ts'
import { eventContext, recordEvent } from '../../users/events.ts'
import { notify } from '../../users/notices.ts'
import { findUserByEmail, markVerified, setPassword } from '../../users/users.ts'
import { hasReset, takeReset } from './store.ts'

/** What the form of a new password is told in the end. */
export const passwordReset = 'Your password has been reset.'

/** What the form of a new password posts. */
export interface ResetForm {
  email: string
  token: string
  password: string
  password_confirmation?: unknown
}

/** What other slices do when a password is reset, in its transaction. */
export interface ResetEffects {
  /** Takes everything from an account that somebody else may have made with this address. */
  claimAccount: (tx: Tx, userId: number) => Promise<void>
  revokeTokens: (tx: Tx, userId: number) => Promise<void>
  /** Ends what applications may do for the user. */
  revokeGrants: (tx: Tx, userId: number) => Promise<void>
}

const badToken = (): FieldErrors => ({ email: ['This password reset token is invalid.'] })

/**
 * Puts a new password in place by the token of a mailed link, once; every session of the user ends.
 * Throws 422: for the token before anything is said of the password, and a refused password leaves the token as it was.
 */
export async function resetPassword(request: FastifyRequest, form: ResetForm, effects: ResetEffects): Promise<void> {
  const { server: app } = request
  const config = app.config.current()
  const { reset_expires: validity, reveal_unknown_email, reset_revokes_tokens } = config.passwords
  const origin = eventContext(request)
  const known = await findUserByEmail(app.database, form.email)
  const found = known?.user.disabled ? null : known
  if (!found && reveal_unknown_email) {
    throw validationFailed({ email: ["We can't find a user with that email address."] })
  }
  // An unknown address is looked for too, under an id that nobody has: the same work, the same answer.
  const account = found?.user ?? { id: 0, email: form.email }
  const isGood = await hasReset(app.database.prisma, account, form.token, validity, origin.now)
  if (!found || !isGood) throw validationFailed(badToken())
  const texts = newPasswordErrors(form.password, form.password_confirmation, config)
  if (texts.length > 0) throw validationFailed({ password: texts })

  const hash = await app.hashing.hash(form.password, { kind: 'known', key: account.email })
  const { user } = found
  const userId = user.id
  const isReset = await app.database.transaction(async (tx) => {
    if (!(await takeReset(tx, account, form.token, validity, origin.now))) return false
    const isClaimed = await markVerified(tx, userId, user.email, origin.now)
    // The mail proves whose address it is. What was there before that proof may be another's: nothing of it stays.
    if (isClaimed) {
      await effects.claimAccount(tx, userId)
      await recordEvent(tx, origin, { type: 'account_claimed', userId })
    } else if (reset_revokes_tokens) await effects.revokeTokens(tx, userId)
    await effects.revokeGrants(tx, userId)
    await endSessionsOf(app, tx, userId)
    await setPassword(tx, userId, hash, origin.now)
    await recordEvent(tx, origin, { type: 'password_reset', userId })
    // Whoever has the link has the mailbox.
    const verified = { ...user, email_verified_at: new Date(origin.now).toISOString() }
    await notify(app, tx, origin, verified, 'password_reset')
    return true
  })
  if (!isReset) throw validationFailed(badToken())
}
