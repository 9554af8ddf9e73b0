import type { FastifyRequest } from 'fastify'
import { passwordMark } from '../access/password-mark.ts'
import { needsRehash } from '../crypto/password.ts'
import { originOf, recordEvent } from '../users/events.ts'
import { findUserByEmail, replacePasswordHash, type UserWithPassword } from '../users/users.ts'

interface Credentials {
  email: string
  password: string
  /** Which door was tried, for the audit trail. */
  door: 'login' | 'token' | 'test_page'
}

/**
 * The user of an address and password, or null: the one way to check a password, whatever the door.
 * Throws 429 when there were too many failures, and 503 when too many checks are waiting.
 */
export async function authenticate(
  request: FastifyRequest,
  credentials: Credentials,
): Promise<UserWithPassword | null> {
  const { server: app } = request
  const attempt = await app.loginLimiter.attempt(request, credentials.email)
  let found: UserWithPassword | null
  let fits: boolean
  try {
    found = await findUserByEmail(app.database, credentials.email)
    fits = await app.hashing.verify(found?.password ?? null, credentials.password)
  } catch (error) {
    await attempt.withdrawn()
    throw error
  }
  if (!found || !fits || found.user.disabled) {
    noteFailure(request, credentials.door, found, attempt.isLast)
    return null
  }
  await attempt.succeeded()
  return rehashed(request, found, credentials.password)
}

/** Records the failure after the answer: the write must not tell a known address from an unknown one by its time. */
function noteFailure(request: FastifyRequest, door: string, found: UserWithPassword | null, isLast: boolean): void {
  const { server: app } = request
  const origin = originOf(request)
  app.background(async () => {
    if (!found) {
      request.log.info({ event: 'login_failed', userId: null, door }, 'security event')
      return
    }
    await app.database.transaction(async (tx) => {
      await recordEvent(tx, origin, {
        type: 'login_failed',
        userId: found.user.id,
        data: { door },
      })
      if (isLast)
        await recordEvent(tx, origin, {
          type: 'lockout',
          userId: found.user.id,
          data: { door },
        })
    })
  })
}

/** The user with a hash of today's parameters; sessions that began with the old hash go on. */
async function rehashed(request: FastifyRequest, found: UserWithPassword, password: string): Promise<UserWithPassword> {
  const { database, hashing } = request.server
  const { user, password: stored } = found
  if (stored === null || !needsRehash(stored)) return found
  // A full queue refuses new work, but not a login whose password was already found right: the next one rehashes.
  const replacement = await hashing.hash(password).catch(() => null)
  if (replacement === null) return found
  const marks = { from: passwordMark(stored), to: passwordMark(replacement) }
  const isReplaced = await database.transaction((tx) =>
    replacePasswordHash(tx, user.id, { stored, replacement, marks }),
  )
  return isReplaced ? { user, password: replacement } : ((await findUserByEmail(database, user.email)) ?? found)
}
