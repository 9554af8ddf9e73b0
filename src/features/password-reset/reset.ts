import type { Visit } from '../../auth/access/visit.ts'
import { endSessionsOf } from '../../auth/sign-in/end-sessions.ts'
import { recordEvent } from '../../identity/events.ts'
import { notify } from '../../identity/notices.ts'
import type { User } from '../../identity/user.ts'
import { findUserByEmail, isAddressInDoubt, markVerified, setPassword } from '../../identity/users.ts'
import { type FieldErrors, validationFailed } from '../../platform/errors.ts'
import { newPasswordErrors } from '../../platform/http/new-password.ts'
import { hasReset, takeReset } from './store.ts'

/** Message after a successful reset. */
export const passwordReset = 'Your password has been reset.'

/** Body of the reset form. */
export interface ResetForm {
  email: string
  token: string
  password: string
  password_confirmation?: unknown
}

const badToken = (): FieldErrors => ({ email: ['This password reset token is invalid.'] })

/** Checks the link of a mail without using it up. The user is null if no enabled account has the address. */
export async function checkLink(
  { app }: Visit,
  { email, token }: Pick<ResetForm, 'email' | 'token'>,
): Promise<{ user: User | null; isValid: boolean }> {
  const known = await findUserByEmail(app.database, email)
  const user = known && !known.user.disabled ? known.user : null
  // Unknown addresses do the same work, with an id that does not exist.
  const account = user ?? { id: 0, email }
  const validity = app.config.current().passwords.reset_expires
  const isFound = await hasReset(app.database.prisma, account, token, validity, app.clock.now())
  return { user, isValid: user !== null && isFound }
}

/**
 * Sets a new password with the token of a mailed link, once, and ends all sessions. Throws 422 for an invalid token
 * before it validates the password. A rejected password does not use up the token.
 */
export async function resetPassword(visit: Visit, form: ResetForm): Promise<void> {
  const { app } = visit
  const config = app.config.current()
  const { reset_expires: validity, reveal_unknown_email, reset_revokes_tokens } = config.passwords
  const origin = visit.origin
  const { user, isValid } = await checkLink(visit, form)
  if (!user && reveal_unknown_email) {
    throw validationFailed({ email: ["We can't find a user with that email address."] })
  }
  if (!user || !isValid) throw validationFailed(badToken())
  const texts = newPasswordErrors(form.password, form.password_confirmation, config)
  if (texts.length > 0) throw validationFailed({ password: texts })

  const hash = await app.hashing.hash(form.password, { kind: 'known', key: user.email })
  const userId = user.id
  const isReset = await app.database.transaction(async (tx) => {
    if (!(await takeReset(tx, user, form.token, validity, origin.now))) return false
    if (await isAddressInDoubt(tx, userId, origin.now)) return false
    const isClaimed = await markVerified(tx, userId, user.email, origin.now)
    // The mail proves ownership of the address. Everything from before may belong to another person and is removed.
    if (isClaimed) {
      await app.accounts.claimAccount(tx, userId)
      await recordEvent(tx, origin, { type: 'account_claimed', userId })
    } else if (reset_revokes_tokens) await app.accounts.revokeTokens(tx, userId)
    await app.accounts.revokeGrants(tx, userId)
    await endSessionsOf(app, tx, userId)
    await setPassword(tx, userId, hash, origin.now)
    await recordEvent(tx, origin, { type: 'password_reset', userId })
    // The link proves access to the mailbox.
    const verified = { ...user, email_verified_at: new Date(origin.now).toISOString() }
    await notify(app, tx, origin, verified, 'password_reset')
    return true
  })
  if (!isReset) throw validationFailed(badToken())
}
