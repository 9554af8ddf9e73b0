import type { FastifyReply, FastifyRequest } from 'fastify'
import { SessionCaller } from '../access/caller.ts'
import { passwordMark } from '../access/password-mark.ts'
import { sha256Hex } from '../crypto/hash.ts'
import { randomId } from '../crypto/random.ts'
import type { Tx } from '../plugins/database/database.ts'
import { originOf, recordEvent } from '../users/events.ts'
import type { User } from '../users/user.ts'
import type { UserWithPassword } from '../users/users.ts'

interface SignIn extends UserWithPassword {
  remember: boolean
}

/** The row of a new session; its id is known to the cookie alone. */
interface NewSession {
  sessionId: string
  user: User
  password: string | null
  rememberTokenId: bigint | null
}

/** Inserts the session's row: only here does a row with a user come into being. */
export async function insertSession(tx: Tx, request: FastifyRequest, session: NewSession): Promise<void> {
  const { ipAddress, userAgent, now } = originOf(request)
  const date = new Date(now)
  await tx.session.create({
    data: {
      id: sha256Hex(session.sessionId),
      publicId: randomId(),
      userId: BigInt(session.user.id),
      rememberTokenId: session.rememberTokenId,
      passwordMark: passwordMark(session.password),
      ipAddress,
      userAgent,
      createdAt: date,
      lastSeenAt: date,
    },
  })
}

/**
 * Ends a remembered device: its token, and every session that came from it or made it.
 * The token first: a request that is just being remembered by it is then either waited for or refused.
 */
export async function endDevice(tx: Tx, userId: bigint, rememberTokenId: bigint): Promise<void> {
  await tx.rememberToken.deleteMany({ where: { id: rememberTokenId } })
  await tx.session.deleteMany({ where: { userId, rememberTokenId } })
}

/** Ends the session that the request was read with, and its device if it is a remembered one: by row, so that only what was read can end. */
async function endSession(tx: Tx, request: FastifyRequest): Promise<boolean> {
  const { row, stale } = request.session?.state ?? {}
  if (stale) await tx.session.deleteMany({ where: { publicId: stale } })
  if (!row) return false
  const { count } = await tx.session.deleteMany({
    where: { id: row.id, publicId: row.publicId },
  })
  if (row.user && row.rememberTokenId !== null) await endDevice(tx, BigInt(row.user.id), row.rememberTokenId)
  return count > 0
}

/** Starts the user's session under a new id in place of the visitor's old one, and hands the cookies out. */
export async function signIn(request: FastifyRequest, reply: FastifyReply, login: SignIn): Promise<void> {
  const { server: app } = request
  const { user, password, remember } = login
  const sessionId = randomId()
  const remembering = await app.database.transaction(async (tx) => {
    await endSession(tx, request)
    await app.remember.forgetPresented(tx, request)
    const token = remember ? await app.remember.create(tx, login, app.clock.now()) : null
    await insertSession(tx, request, {
      sessionId,
      user,
      password,
      rememberTokenId: token?.id ?? null,
    })
    await recordEvent(tx, originOf(request), {
      type: 'login',
      userId: user.id,
      data: { remember },
    })
    return token
  })
  app.remember.sendCookie(request, reply, remembering?.cookie ?? null)
  app.loginLimiter.rememberBrowser(request, reply, user.email)
  await become(request, reply, sessionId)
}

/** Ends the session; the browser is left with a new anonymous one. */
export async function signOut(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { server: app } = request
  const userId = request.caller?.user?.id ?? null
  await app.database.transaction(async (tx) => {
    const ended = await endSession(tx, request)
    await app.remember.forgetPresented(tx, request)
    if (ended) await recordEvent(tx, originOf(request), { type: 'logout', userId })
  })
  app.remember.sendCookie(request, reply, null)
  await app.sessions.becomeAnonymous(request, reply)
  request.caller = null
}

/** Makes the new session the request's own. */
export async function become(request: FastifyRequest, reply: FastifyReply, sessionId: string): Promise<void> {
  await request.server.sessions.become(request, reply, sessionId)
  const row = request.session.state?.row
  request.caller = row?.user ? new SessionCaller(row.publicId, row.user) : null
}
