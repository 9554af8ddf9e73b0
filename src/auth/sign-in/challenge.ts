import type { FastifyReply, FastifyRequest } from 'fastify'
import { findUserById, type UserWithPassword } from '../../identity/users.ts'
import { isSet } from '../../platform/http/flag.ts'
import { passwordFingerprint, passwordFingerprintMatches } from '../access/password-fingerprint.ts'
import { type Visit, visitOf } from '../access/visit.ts'
import { type AuthenticationMethod, codeMethod, passwordMethod } from './authentication-methods.ts'
import { amrOf, type SignIn } from './new-session.ts'
import type { SecondFactorInput } from './second-factor.ts'
import { beginAnonymous, renewSession, signIn } from './sign-in.ts'
import { isTrusted, trustBrowser } from './trusted-browsers.ts'

/** A sign-in that waits for its second factor, stored in the session's row. It grants no access. */
interface PendingLogin {
  userId: number
  passwordFingerprint: string
  remember: boolean
  channel: SignIn['channel']
  /** Method of the first factor and its `amr` values. Default: password. */
  method?: string
  amr?: AuthenticationMethod['amr']
  /** The hook before_sign_in has allowed it already. */
  isDecided?: boolean
  /** Unix milliseconds. */
  expiresAt: number
}

declare module 'fastify' {
  interface Session {
    pendingLogin?: PendingLogin
  }
}

/** Lifetime of a challenge: ten minutes. */
const challengeTtl = 600_000

/**
 * Continues the sign-in of a browser after its first factor: begins the challenge where the account has a second factor,
 * otherwise starts the session. Every sign-in of a browser goes through here. Throws 401 when the account was disabled or
 * its password changed meanwhile. A session may begin with an unverified address: `auth/access/verified-address` checks it on
 * each request.
 */
export async function continueSignIn(
  request: FastifyRequest,
  reply: FastifyReply,
  login: Omit<SignIn, 'completes'>,
): Promise<'signed_in' | 'challenged'> {
  const { config, secondFactor } = request.server
  const isAsked = secondFactor.isAskedAfter(login.user, login.method ?? passwordMethod)
  // What follows may take seconds, and the attempt must not count for so long. Otherwise `signIn` clears the failures.
  if (isAsked || config.current().hooks.before_sign_in) await login.failures?.clear()
  // A signed-in user signs in again where the session needs a second factor, so the trusted browser does not replace it.
  const isAgain = request.session?.state?.row?.user?.id === login.user.id
  const trusted = isAsked && !isAgain && (await isTrusted(visitOf(request), login))
  if (isAsked && !trusted) {
    await beginChallenge(request, reply, login)
    return 'challenged'
  }
  if ((await decide(visitOf(request), login)) === 'second_factor') {
    await beginChallenge(request, reply, { ...login, isDecided: true })
    return 'challenged'
  }
  await signIn(request, reply, { ...login, trusted })
  return 'signed_in'
}

/** Asks the hook before_sign_in, once for each sign-in. Throws 422 if it refuses. */
async function decide(visit: Visit, login: SignIn): Promise<'allowed' | 'second_factor'> {
  if (login.isDecided) return 'allowed'
  const { user, channel, method = passwordMethod, isNewAccount = false } = login
  const amr = amrOf(login)
  return visit.app.decisions.signIn(visit, { user, channel, method: method.name, amr, isNewAccount })
}

/**
 * Starts a challenge in a new anonymous session. If the visitor is signed in, it keeps that session, because a first
 * factor alone must not replace it.
 */
async function beginChallenge(request: FastifyRequest, reply: FastifyReply, login: SignIn): Promise<void> {
  const pendingLogin: PendingLogin = {
    userId: login.user.id,
    passwordFingerprint: passwordFingerprint(login.password),
    remember: login.remember,
    channel: login.channel,
    ...(login.method ? { method: login.method.name, amr: login.method.amr } : {}),
    ...(login.isDecided ? { isDecided: true } : {}),
    expiresAt: request.server.clock.now() + challengeTtl,
  }
  const event = { type: 'two_factor_challenged', userId: login.user.id, data: { channel: login.channel } } as const
  if (!request.caller) return beginAnonymous(request, reply, { pendingLogin }, event)
  // Renews the id first: an attacker who fixed this session must not share the challenge.
  await renewSession(request, reply, event)
  request.session.pendingLogin = pendingLogin
  await request.session.save()
}

/** Returns the user of the pending challenge, if enabled, with the same password and a second factor, or null. */
export async function challengedUser({ app, session }: Visit): Promise<UserWithPassword | null> {
  const { pendingLogin, state } = session ?? {}
  const { clock, database, secondFactor } = app
  if (!pendingLogin || !state?.row || clock.now() >= pendingLogin.expiresAt) return null
  const found = await findUserById(database, pendingLogin.userId)
  if (!found || found.user.disabled || !passwordFingerprintMatches(pendingLogin.passwordFingerprint, found.password))
    return null
  // If the factor was removed meanwhile, the user signs in again with the password alone.
  if (!secondFactor.isAskedOf(found.user)) return null
  return found
}

/** Returns the address of a sign-in whose second factor came too late, so that the user need not type it again. */
export async function lateAddress({ session, app }: Visit): Promise<string | null> {
  const { pendingLogin } = session ?? {}
  if (!pendingLogin || app.clock.now() < pendingLogin.expiresAt) return null
  return (await findUserById(app.database, pendingLogin.userId))?.user.email ?? null
}

/**
 * Completes the pending sign-in. Returns null if none is pending, or if the proof is invalid; the challenge then stays
 * pending. With `trust_browser`, later sign-ins in this browser need no second factor.
 */
export async function completeChallenge(
  request: FastifyRequest,
  reply: FastifyReply,
  proof: SecondFactorInput & { trust_browser?: unknown },
): Promise<UserWithPassword | null> {
  const visit = visitOf(request)
  const found = await challengedUser(visit)
  if (!found) return null
  const login = { ...pendingSignIn(request, found), completes: codeMethod }
  if (!(await visit.app.secondFactor.check(visit, found.user, proof, 'challenge', () => decide(visit, login))))
    return null
  if (!(await signIn(request, reply, login))) return null
  // A recovery code is for a lost device: the user should set up a new factor first.
  if (isSet(proof.trust_browser) && !proof.recovery_code) await trustBrowser(request, reply, found)
  return found
}

/** Completes the pending sign-in of a user who proved a second factor by this method; false if it is not pending anymore. */
export async function passChallenge(
  request: FastifyRequest,
  reply: FastifyReply,
  found: UserWithPassword,
  second: AuthenticationMethod,
): Promise<boolean> {
  const login = { ...pendingSignIn(request, found), completes: second }
  await decide(visitOf(request), login)
  return signIn(request, reply, login)
}

/** The pending sign-in, as its first factor began it. */
function pendingSignIn({ session }: FastifyRequest, found: UserWithPassword): Omit<SignIn, 'completes'> {
  const {
    remember = false,
    method: name,
    amr = [],
    channel = 'challenge',
    isDecided = false,
  } = session.pendingLogin ?? {}
  return { ...found, remember, method: name === undefined ? passwordMethod : { name, amr }, channel, isDecided }
}
