import type { FastifyReply, FastifyRequest } from 'fastify'
import { recordEvent } from '../../identity/events.ts'
import { notify } from '../../identity/notices.ts'
import { isUnchanged, type UserWithPassword } from '../../identity/users.ts'
import { sha256Hex } from '../../platform/crypto/hash.ts'
import { randomId } from '../../platform/crypto/random.ts'
import type { Tx } from '../../platform/database/database.ts'
import { unauthenticated } from '../../platform/errors.ts'
import { SessionCaller } from '../access/caller.ts'
import type { SessionRow } from '../access/lookups/lookups.ts'
import { passwordFingerprint } from '../access/password-fingerprint.ts'
import { eventContext, type Visit, visitOf } from '../access/visit.ts'
import { endSession } from './end-sessions.ts'
import { rememberBrowser } from './known-browser.ts'
import { isNewBrowser } from './new-device.ts'
import {
  amrOf,
  beginInOneStatement,
  type NewSession,
  newSessionColumns,
  onlyAddsRows,
  type SignIn,
  signInEvent,
} from './new-session.ts'

/**
 * Inserts a session with a user and returns its row. Requires the lock of the user and of
 * `sessionListener.usersOf`.
 */
export async function insertSession(tx: Tx, visit: Visit, session: NewSession): Promise<SessionRow> {
  const { ipAddress, userAgent, now } = visit.origin
  const date = new Date(now)
  const { user, password } = session
  const columns = newSessionColumns(session)
  const { publicId, bindingId } = columns
  await tx.session.create({
    data: { ...columns, userId: BigInt(user.id), ipAddress, userAgent, createdAt: date, lastSeenAt: date },
    select: { id: true },
  })
  if (bindingId !== null)
    await tx.sessionBinding.updateMany({ where: { id: bindingId }, data: { sessionId: publicId } })
  await visit.app.sessionListener.began(tx, visit, { publicId, userId: user.id })
  return { ...columns, createdAt: now, lastSeenAt: now, boundAt: null, user, password }
}

/** Cookies of a renewed session: a new session id and, if remembered, a new remember-me cookie. */
interface Renewed {
  sessionId: string
  rememberCookie: string | null
  found: UserWithPassword
}

/**
 * Renews the request's session after a password change, which invalidates copies of its cookies. Send the result with
 * `sendRenewed` after the commit.
 */
export async function renewForPassword(tx: Tx, { app, session }: Visit, password: string): Promise<Renewed> {
  const row = session?.state?.row
  if (!row?.user) throw unauthenticated()
  const sessionId = randomId()
  const mark = passwordFingerprint(password)
  const { rememberTokenId: old } = row
  const token = old === null ? null : await app.remember.replace(tx, old, mark)
  await tx.session.updateMany({
    where: { publicId: row.publicId },
    data: { id: sha256Hex(sessionId), passwordFingerprint: mark, rememberTokenId: token?.id ?? null },
  })
  return { sessionId, rememberCookie: token?.cookie ?? null, found: { user: row.user, password } }
}

/** Sends the cookies of a renewed session and continues the request with it. */
export async function sendRenewed(request: FastifyRequest, reply: FastifyReply, renewed: Renewed): Promise<void> {
  request.server.remember.sendCookie(request, reply, renewed.rememberCookie)
  rememberBrowser(request, reply, renewed.found)
  await switchSession(request, reply, renewed.sessionId)
}

/**
 * Starts the user's session under a new id in place of the old one, and sends the cookies. Returns false if nothing was
 * pending. Throws 401 if the account was disabled or its password changed after the proof was checked.
 */
export async function signIn(request: FastifyRequest, reply: FastifyReply, login: SignIn): Promise<boolean> {
  const visit = visitOf(request)
  const { app } = visit
  const { user, password } = login
  const session = {
    sessionId: randomId(),
    user,
    password,
    rememberTokenId: null,
    proof: { at: app.clock.now(), methods: amrOf(login), ...(login.trusted ? { trusted: true as const } : {}) },
  }
  const begun = onlyAddsRows(visit, login)
    ? await beginInOneStatement(visit, login, session)
    : await beginInTransaction(visit, login, session)
  if (!begun) return false
  app.remember.sendCookie(request, reply, begun.rememberCookie)
  rememberBrowser(request, reply, login)
  await switchSession(request, reply, session.sessionId, begun.row)
  app.boundSessions.offer(reply, { publicId: begun.row.publicId, now: app.clock.now() })
  return true
}

/** Begins the session and ends those that it replaces. Undefined if nothing was pending. Throws 401 if the account changed. */
async function beginInTransaction(visit: Visit, login: SignIn, session: NewSession) {
  const { app, origin } = visit
  const { user } = login
  await login.failures?.clear()
  return app.database.transaction(async (tx) => {
    const ended = await endSession(tx, visit, [user.id, ...(await app.sessionListener.usersOf(tx, visit))])
    if (login.completes && !ended.isOwn) return undefined
    // The account may have been disabled, or got another password or a second factor, since the proof was checked.
    if (!isUnchanged(ended.accounts.get(user.id), login)) throw unauthenticated()
    const token = login.remember ? await app.remember.create(tx, visit, login) : null
    const row = await insertSession(tx, visit, { ...session, rememberTokenId: token?.id ?? null })
    // After the new session began, so that listeners can continue with it if the user is the same.
    await app.sessionListener.ended(tx, ended)
    await recordEvent(tx, origin, signInEvent(login))
    if (isNewBrowser(visit, login)) await notify(app, tx, origin, user, 'new_sign_in')
    return { row, rememberCookie: token?.cookie ?? null }
  })
}

/** Starts an anonymous session with the given data under a new id, and records why. */
export async function beginAnonymous(
  request: FastifyRequest,
  reply: FastifyReply,
  data: object,
  event: Parameters<typeof recordEvent>[2],
): Promise<void> {
  const { server: app } = request
  const sessionId = randomId()
  const date = new Date(app.clock.now())
  await app.database.transaction(async (tx) => {
    await app.sessionListener.ended(tx, await endSession(tx, visitOf(request)))
    const row = { id: sha256Hex(sessionId), publicId: randomId(), data: JSON.stringify(data) }
    await tx.session.create({ data: { ...row, createdAt: date, lastSeenAt: date } })
    await recordEvent(tx, eventContext(request), event)
  })
  app.remember.sendCookie(request, reply, null)
  await switchSession(request, reply, sessionId)
}

/** Gives the request's session a new id and records why. Throws 401 if it was ended meanwhile. */
export async function renewSession(
  request: FastifyRequest,
  reply: FastifyReply,
  event: Parameters<typeof recordEvent>[2],
): Promise<void> {
  const row = request.session?.state?.row
  const sessionId = randomId()
  await request.server.database.transaction(async (tx) => {
    const own = { id: row?.id ?? '', publicId: row?.publicId ?? '' }
    const { count } = await tx.session.updateMany({ where: own, data: { id: sha256Hex(sessionId) } })
    if (count === 0) throw unauthenticated()
    await recordEvent(tx, eventContext(request), event)
  })
  await switchSession(request, reply, sessionId)
}

/** Ends the request's session and everything that depends on it. */
export async function endOwnSession(request: FastifyRequest): Promise<void> {
  const { server: app } = request
  const userId = request.caller?.user?.id ?? null
  await app.database.transaction(async (tx) => {
    const ended = await endSession(tx, visitOf(request))
    await app.sessionListener.ended(tx, ended)
    if (ended.isOwn && !request.session.impersonation) {
      await recordEvent(tx, eventContext(request), { type: 'logout', userId })
    }
  })
}

/** Ends the session and starts a new anonymous one. */
export async function signOut(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { server: app } = request
  await endOwnSession(request)
  app.remember.sendCookie(request, reply, null)
  await app.sessions.startAnonymous(request, reply)
  request.caller = null
}

/** Makes the new session the request's own. Reads its row from the database unless the caller inserted it (`inserted`). */
export async function switchSession(
  request: FastifyRequest,
  reply: FastifyReply,
  sessionId: string,
  inserted?: SessionRow,
): Promise<void> {
  await request.server.sessions.switchTo(request, reply, sessionId, inserted)
  const row = request.session.state?.row
  request.caller = row?.user ? new SessionCaller(row, row.user, request.session.impersonation) : null
}
