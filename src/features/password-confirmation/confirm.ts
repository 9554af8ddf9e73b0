import type { FastifyRequest } from 'fastify'
import { requireUser } from '../../auth/access/caller.ts'
import { authenticateAgain } from '../../auth/sign-in/authenticate.ts'
import { markConfirmed } from '../../auth/sign-in/recent-password.ts'
import { eventContext, recordEvents } from '../../identity/events.ts'
import type { User } from '../../identity/user.ts'
import { findUserById } from '../../identity/users.ts'
import { isPassword } from '../../platform/crypto/stored-password.ts'
import { emailUnverified, unauthenticated, validationFailed } from '../../platform/errors.ts'
import { redeemCode } from './mailed-code.ts'

const wrong = 'The provided password was incorrect.'
const wrongCode = 'The provided code was incorrect or has expired.'
const hasPassword = 'This account has a password. Confirm it instead of a code.'

/** Returns the user if a mailed code may confirm them: no password, and a verified address. */
export async function codeUserOf(request: FastifyRequest): Promise<User> {
  const found = await findUserById(request.server.database, requireUser(request).id)
  if (!found) throw unauthenticated()
  if (isPassword(found.password)) throw validationFailed({ code: [hasPassword] })
  if (found.user.email_verified_at === null) throw emailUnverified()
  return found.user
}

async function confirmByPassword(request: FastifyRequest, password: unknown): Promise<'password'> {
  const isText = typeof password === 'string' && password !== ''
  if (!isText || !(await authenticateAgain(request, requireUser(request), password, 'confirm')))
    throw validationFailed({ password: [wrong] })
  return 'password'
}

async function confirmByCode(request: FastifyRequest, code: unknown): Promise<'mail'> {
  await codeUserOf(request)
  if (typeof code !== 'string' || !redeemCode(request, code)) throw validationFailed({ code: [wrongCode] })
  return 'mail'
}

/** Confirms the user of a session by password, or by a mailed code. 422 if it is wrong. */
export async function confirm(
  request: FastifyRequest,
  { password, code }: { password?: unknown; code?: unknown },
): Promise<void> {
  const byCode = code !== undefined && (password ?? null) === null
  const method = byCode ? await confirmByCode(request, code) : await confirmByPassword(request, password)
  await markConfirmed(request)
  const facts = { userId: requireUser(request).id, data: { method } }
  await recordEvents(request.server.database, eventContext(request), { type: 'password_confirmed', ...facts })
}
