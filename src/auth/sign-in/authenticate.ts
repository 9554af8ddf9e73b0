import { recordEvents } from '../../identity/events.ts'
import { canonicalEmail, type User } from '../../identity/user.ts'
import { idInUsername } from '../../identity/username.ts'
import { findUserByEmail, replacePasswordHash, type UserWithPassword } from '../../identity/users.ts'
import { needsRehash } from '../../platform/crypto/stored-password.ts'
import { passwordFingerprint } from '../access/password-fingerprint.ts'
import type { Visit } from '../access/visit.ts'
import type { Channel } from './channel.ts'
import type { FailuresToClear } from './failures-to-clear.ts'
import type { Lane } from './fair-queue.ts'
import type { PasswordMatch } from './hashing.ts'
import type { Identifier } from './identifier.ts'
import type { Attempt } from './login-limiter.ts'
import { mailUnlock } from './unlock.ts'

type Credentials = Identifier & {
  password: string
  /** Entry point, for the audit trail. */
  channel: Channel
}

/** A user who proved the password. The sign-in has yet to clear the failures of its attempt. */
export interface ProvedPassword extends UserWithPassword {
  failures: FailuresToClear
}

/**
 * Returns the user with this email address or username and this password; null without one. All entry points use this check.
 * Throws 429 after too many failures, and 503 if too many checks are queued.
 */
export async function authenticate(visit: Visit, credentials: Credentials): Promise<UserWithPassword | null> {
  const found = await provePassword(visit, credentials)
  await found?.failures.clear()
  return found
}

/** Checks the password as `authenticate` does, and leaves it to the caller to clear the failures with its next statement. */
export async function provePassword(visit: Visit, credentials: Credentials): Promise<ProvedPassword | null> {
  const { app } = visit
  const email = await addressOf(visit, credentials)
  const lane = app.loginLimiter.laneOf(visit, email)
  // First, because rejecting must cost less than the rejected work.
  if (app.hashing.isFull(lane)) return app.hashing.refuse()
  // Looks the account up once. The limit does so first if it may know the browser.
  let lookup: Promise<UserWithPassword | null> | undefined
  const find = () => {
    lookup ??= app.lookups.userByEmail(canonicalEmail(email))
    return lookup
  }
  const attempt = await app.loginLimiter.attempt(visit, email, credentials.channel, find)
  let found: UserWithPassword | null
  let match: PasswordMatch
  try {
    found = await find()
    match = await app.hashing.verify(found?.password ?? null, credentials.password, lane)
  } catch (error) {
    await attempt.withdrawn()
    throw error
  }
  if (!found || match === 'none' || found.user.disabled) {
    attempt.failed()
    noteFailure(visit, credentials.channel, found, attempt)
    return null
  }
  const failures = attempt.succeeded()
  const { password: stored } = found
  if (stored === null || (match === 'canonical' && !needsRehash(stored))) return { ...found, failures }
  // Hashing takes time, and the attempt must not count for so long.
  await failures.clear()
  const rehashed = await rehash(visit, found.user, { stored, password: credentials.password, lane })
  return rehashed && { ...rehashed, failures }
}

/**
 * Returns the address of the account; all attempts count under it. Returns an unknown username unchanged: it has no `@`, so it
 * matches no account, and the check does the same work.
 */
async function addressOf({ app }: Visit, credentials: Credentials): Promise<string> {
  if ('email' in credentials) return credentials.email
  const { username } = credentials
  // Users of earlier versions have no username in their row.
  const id = idInUsername(username)
  const found = await (id === null ? app.lookups.userByUsername(username) : app.lookups.user(id))
  return found?.username === username ? found.email : username
}

/** Returns the signed-in user, reloaded, if the password is theirs, or null. Limited like a sign-in. */
export async function authenticateAgain(
  visit: Visit,
  user: User,
  password: string,
  channel: 'confirm' | 'change',
): Promise<UserWithPassword | null> {
  const found = await authenticate(visit, { email: user.email, password, channel })
  // The address may belong to another user since the session was read.
  return found?.user.id === user.id ? found : null
}

/**
 * Records the failure after the response. Unknown addresses cause the same writes, so that timing does not reveal them.
 */
function noteFailure(
  visit: Visit,
  channel: string,
  found: UserWithPassword | null,
  { isLast, isLocking }: Attempt,
): void {
  const { app } = visit
  const origin = visit.origin
  const reason = !found ? 'unknown_account' : found.user.disabled ? 'account_disabled' : 'wrong_password'
  const facts = { userId: found?.user.id ?? null, credential: 'password', reason, data: { channel } }
  app.background(async () => {
    const lockout = isLast ? [{ type: 'lockout', ...facts } as const] : []
    await recordEvents(app.database, origin, { type: 'login_failed', ...facts }, ...lockout)
    if (isLocking && found) await mailUnlock(app, origin, found)
  })
}

/** Rehashes with the current parameters; null if the password changed meanwhile. Existing sessions stay valid. */
async function rehash(
  visit: Visit,
  user: User,
  { stored, password, lane }: { stored: string; password: string; lane: Lane },
): Promise<UserWithPassword | null> {
  const { database, hashing } = visit.app
  // A full queue must not fail a login with a correct password; the next login rehashes.
  const replacement = await hashing.hash(password, lane).catch(() => null)
  if (replacement === null) return { user, password: stored }
  const fingerprints = { from: passwordFingerprint(stored), to: passwordFingerprint(replacement) }
  const isReplaced = await database.transaction((tx) =>
    replacePasswordHash(tx, user.id, { stored, replacement, fingerprints }),
  )
  if (isReplaced) return { user, password: replacement }
  // Another sign-in may have rehashed first. Only a password change rejects this one.
  const now = await findUserByEmail(database, user.email)
  return now && (await hashing.verify(now.password, password, lane)) !== 'none' ? now : null
}
