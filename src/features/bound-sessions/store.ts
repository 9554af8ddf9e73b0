import type { JWK } from 'jose'
import type { Visit } from '../../auth/access/visit.ts'
import { recordEvent } from '../../identity/events.ts'
import { lockUser } from '../../identity/lock.ts'
import { randomId } from '../../platform/crypto/random.ts'
import { inBatches } from '../../platform/database/batches.ts'
import type { Database } from '../../platform/database/database.ts'

/** A binding whose session, or whose remembered browser, still exists. */
interface Binding {
  id: string
  key: JWK
  /** When svc issued the last challenge that the browser answered, in Unix milliseconds. */
  provedAt: number
}

interface Registration {
  userId: number
  /** Public id of the session. */
  sessionId: string
  key: JWK
  /** When svc issued the challenge, in Unix milliseconds. */
  issuedAt: number
}

/**
 * Binds a session, and the remembered browser that it belongs to, to a key. Returns the id of the binding; null if the session
 * has ended or is bound already.
 */
export async function bindSession(
  { app, origin }: Pick<Visit, 'app' | 'origin'>,
  { userId, sessionId, key, issuedAt }: Registration,
): Promise<string | null> {
  const id = randomId()
  const now = new Date(origin.now)
  return app.database.transaction(async (tx) => {
    await lockUser(app.database, tx, userId)
    const own = { publicId: sessionId, userId: BigInt(userId), bindingId: null }
    const session = await tx.session.findFirst({ where: own, select: { rememberTokenId: true } })
    const { count } = await tx.session.updateMany({ where: own, data: { bindingId: id, boundAt: now } })
    if (!session || count === 0) return null
    const { rememberTokenId } = session
    if (rememberTokenId !== null)
      await tx.rememberToken.updateMany({ where: { id: rememberTokenId }, data: { bindingId: id } })
    await tx.sessionBinding.create({
      data: {
        ...{ id, userId: BigInt(userId), sessionId, rememberTokenId, publicKey: JSON.stringify(key) },
        ...{ createdAt: now, provedAt: new Date(issuedAt) },
      },
    })
    await recordEvent(tx, origin, { type: 'session_bound', userId })
    return id
  })
}

/** Returns a binding, or null if it is unknown, or if its session and its remembered browser have ended. */
export async function findBinding({ prisma }: Database, id: string): Promise<Binding | null> {
  const row = await prisma.sessionBinding.findUnique({ where: { id } })
  if (!row) return null
  const { sessionId, rememberTokenId, publicKey, provedAt } = row
  const session = await prisma.session.findFirst({
    where: { publicId: sessionId, bindingId: id },
    select: { id: true },
  })
  const device =
    session || rememberTokenId === null
      ? null
      : await prisma.rememberToken.findFirst({ where: { id: rememberTokenId, bindingId: id }, select: { id: true } })
  return session || device ? { id, key: JSON.parse(publicKey), provedAt: provedAt.getTime() } : null
}

/** Uses up a challenge and all that svc issued before it; false if it was used already. */
export async function useChallenge({ prisma }: Database, id: string, issuedAt: number): Promise<boolean> {
  const provedAt = new Date(issuedAt)
  const { count } = await prisma.sessionBinding.updateMany({
    where: { id, provedAt: { lt: provedAt } },
    data: { provedAt },
  })
  return count > 0
}

/** Deletes the bindings whose session and remembered browser no longer exist. */
export async function pruneBindings(database: Database): Promise<void> {
  const { prisma } = database
  let after = ''
  await inBatches(database, async (take) => {
    const rows = await prisma.sessionBinding.findMany({
      where: { id: { gt: after } },
      orderBy: { id: 'asc' },
      take,
      select: { id: true, sessionId: true, rememberTokenId: true },
    })
    const sessions = rows.map(({ sessionId }) => sessionId)
    const devices = rows.flatMap(({ rememberTokenId }) => rememberTokenId ?? [])
    const select = { bindingId: true }
    const alive = new Set(
      [
        ...(await prisma.session.findMany({ where: { publicId: { in: sessions } }, select })),
        ...(await prisma.rememberToken.findMany({ where: { id: { in: devices } }, select })),
      ].map(({ bindingId }) => bindingId),
    )
    const dead = rows.map(({ id }) => id).filter((id) => !alive.has(id))
    await prisma.sessionBinding.deleteMany({ where: { id: { in: dead } } })
    after = rows.at(-1)?.id ?? after
    return rows.length
  })
}
