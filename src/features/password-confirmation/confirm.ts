import { requireUser } from '../../auth/access/caller.ts'
import type { Visit } from '../../auth/access/visit.ts'
import { authenticateAgain } from '../../auth/sign-in/authenticate.ts'
import { markConfirmed } from '../../auth/sign-in/recent-password.ts'
import { recordEvents } from '../../identity/events.ts'
import type { User } from '../../identity/user.ts'
import { findUserById } from '../../identity/users.ts'
import { isPassword } from '../../platform/crypto/stored-password.ts'
import { emailUnverified, unauthenticated, validationFailed } from '../../platform/errors.ts'
import { redeemCode } from './mailed-code.ts'

const wrong = 'The provided password was incorrect.'
const wrongCode = 'The provided code was incorrect or has expired.'
const hasPassword = 'This account has a password. Confirm it instead of a code.'

/** Returns the user if a mailed code may confirm them: no password, and a verified address. */
export async function codeUserOf(visit: Visit): Promise<User> {
  const found = await findUserById(visit.app.database, requireUser(visit).id)
  if (!found) throw unauthenticated()
  if (isPassword(found.password)) throw validationFailed({ code: [hasPassword] })
  if (found.user.email_verified_at === null) throw emailUnverified()
  return found.user
}

async function confirmByPassword(visit: Visit, password: unknown): Promise<'password'> {
  const isText = typeof password === 'string' && password !== ''
  if (!isText || !(await authenticateAgain(visit, requireUser(visit), password, 'confirm')))
    throw validationFailed({ password: [wrong] })
  return 'password'
}

async function confirmByCode(visit: Visit, code: unknown): Promise<'mail'> {
  await codeUserOf(visit)
  if (typeof code !== 'string' || !redeemCode(visit, code)) throw validationFailed({ code: [wrongCode] })
  return 'mail'
}

/** Confirms the user of a session by password, or by a mailed code. 422 if it is wrong. */
export async function confirm(visit: Visit, { password, code }: { password?: unknown; code?: unknown }): Promise<void> {
  const byCode = code !== undefined && (password ?? null) === null
  const method = byCode ? await confirmByCode(visit, code) : await confirmByPassword(visit, password)
  await markConfirmed(visit)
  const facts = { userId: requireUser(visit).id, data: { method } }
  await recordEvents(visit.app.database, visit.origin, { type: 'password_confirmed', ...facts })
}
