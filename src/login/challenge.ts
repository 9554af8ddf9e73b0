import type { FastifyReply, FastifyRequest } from 'fastify'
import { passwordFingerprint, passwordFingerprintMatches } from '../access/password-fingerprint.ts'
import { findUserById, type UserWithPassword } from '../users/users.ts'
import type { Proof } from './second-factor.ts'
import { beginAnonymous, renewSession, type SignIn, signIn } from './sign-in.ts'

/** A sign-in that waits for its second factor: kept in its session's row, where it opens nothing. */
interface PendingLogin {
  userId: number
  passwordFingerprint: string
  remember: boolean
  channel: SignIn['channel']
  /** How the first factor was proved; by password where it says nothing. */
  method?: SignIn['method']
  /** Unix milliseconds. */
  expiresAt: number
}

declare module 'fastify' {
  interface Session {
    pendingLogin?: PendingLogin
  }
}

/** How long a code may be looked for: ten minutes. */
const challengeTtl = 600_000

/**
 * Lets this sign-in wait for its second factor: in a new anonymous session in place of the visitor's, or, where somebody
 * is signed in, in that session, which a first factor alone does not replace.
 */
export async function beginChallenge(request: FastifyRequest, reply: FastifyReply, login: SignIn): Promise<void> {
  const pendingLogin: PendingLogin = {
    userId: login.user.id,
    passwordFingerprint: passwordFingerprint(login.password),
    remember: login.remember,
    channel: login.channel,
    ...(login.method ? { method: login.method } : {}),
    expiresAt: request.server.clock.now() + challengeTtl,
  }
  const event = { type: 'two_factor_challenged', userId: login.user.id, data: { channel: login.channel } } as const
  if (!request.caller) return beginAnonymous(request, reply, { pendingLogin }, event)
  // Under a new id first: whoever gave this browser a session of their own must not hold what waits in it.
  await renewSession(request, reply, event)
  request.session.pendingLogin = pendingLogin
  await request.session.save()
}

/** The user whose sign-in waits in this session: still enabled, of the same password, and with a second factor; else null. */
export async function challengedUser(request: FastifyRequest): Promise<UserWithPassword | null> {
  const { pendingLogin, state } = request.session ?? {}
  const { clock, database, secondFactor } = request.server
  if (!pendingLogin || !state?.row || clock.now() >= pendingLogin.expiresAt) return null
  const found = await findUserById(database, pendingLogin.userId)
  if (!found || found.user.disabled || !passwordFingerprintMatches(pendingLogin.passwordFingerprint, found.password))
    return null
  // Whose factor was taken away meanwhile begins anew, with the password alone.
  if (!secondFactor.isAskedOf(found.user)) return null
  return found
}

/** Completes the waiting sign-in with its second factor; null when none waits or the proof is not good, and then it goes on waiting. */
export async function completeChallenge(
  request: FastifyRequest,
  reply: FastifyReply,
  proof: Proof,
): Promise<UserWithPassword | null> {
  const found = await challengedUser(request)
  if (!found || !(await request.server.secondFactor.check(request, found.user, proof, 'challenge'))) return null
  const { remember = false, method = 'password', channel = 'challenge' } = request.session.pendingLogin ?? {}
  return (await signIn(request, reply, { ...found, remember, method, channel, completes: true })) ? found : null
}
