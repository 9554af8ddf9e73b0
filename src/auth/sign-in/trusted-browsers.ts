import type { FastifyReply, FastifyRequest } from 'fastify'
import { type EventContext, recordEvent } from '../../identity/events.ts'
import { lockUser } from '../../identity/lock.ts'
import type { UserWithPassword } from '../../identity/users.ts'
import { wireDate } from '../../identity/wire-date.ts'
import { sha256Hex } from '../../platform/crypto/hash.ts'
import { randomId } from '../../platform/crypto/random.ts'
import { deleteOutdated } from '../../platform/database/batches.ts'
import type { Database, Tx } from '../../platform/database/database.ts'
import { passwordFingerprint, passwordFingerprintMatches } from '../access/password-fingerprint.ts'
import { type Visit, visitOf } from '../access/visit.ts'

const cookie = 'svc_trusted'

const token = /^[\w-]{43}$/

/** Maximum number of trusted browsers of one user. A new one replaces the one that was used least recently. */
const maxBrowsers = 20

/** The hash of the token in the cookie of this browser; null without one. */
function presentedHash(visit: Visit): string | null {
  const value = visit.cookie(cookie) ?? ''
  return token.test(value) ? sha256Hex(value) : null
}

/**
 * Tests whether the user trusted this browser, with the current password and the current second factor. The trust counts
 * from the moment when the user entered a code, and does not grow with use.
 */
export async function isTrusted(visit: Visit, { user, password }: UserWithPassword): Promise<boolean> {
  const { config, database, clock } = visit.app
  const { trust_browser: lifetime } = config.current().login
  const tokenHash = lifetime === 0 ? null : presentedHash(visit)
  if (tokenHash === null) return false
  const now = clock.now()
  const row = await database.prisma.trustedBrowser.findUnique({
    where: { tokenHash_userId: { tokenHash, userId: BigInt(user.id) } },
    include: { user: { select: { twoFactorConfirmedAt: true } } },
  })
  // A shorter lifetime in the configuration applies at once.
  if (!row || row.expiresAt.getTime() <= now || row.createdAt.getTime() + lifetime <= now) return false
  if (!passwordFingerprintMatches(row.passwordFingerprint, password)) return false
  if (row.factorConfirmedAt.getTime() !== row.user.twoFactorConfirmedAt?.getTime()) return false
  await database.prisma.trustedBrowser.updateMany({ where: { id: row.id }, data: { lastUsedAt: new Date(now) } })
  return true
}

/** Trusts this browser for a user who has just entered a code. Does nothing while the configuration does not allow it. */
export async function trustBrowser(
  request: FastifyRequest,
  reply: FastifyReply,
  { user, password }: UserWithPassword,
): Promise<void> {
  const { server: app } = request
  const { trust_browser: lifetime } = app.config.current().login
  if (lifetime === 0) return
  const visit = visitOf(request)
  const { origin } = visit
  // Always a new token: someone who planted a cookie in this browser must not know it.
  const value = randomId()
  const [tokenHash, before, userId] = [sha256Hex(value), presentedHash(visit), BigInt(user.id)]
  const at = new Date(origin.now)
  await app.database.transaction(async (tx) => {
    await lockUser(app.database, tx, user.id)
    const found = await tx.user.findUnique({ where: { id: userId }, select: { twoFactorConfirmedAt: true } })
    if (!found?.twoFactorConfirmedAt) return
    // Other users of the browser keep their trust.
    if (before !== null) {
      await tx.trustedBrowser.deleteMany({ where: { tokenHash: before, userId } })
      await tx.trustedBrowser.updateMany({ where: { tokenHash: before }, data: { tokenHash } })
    }
    const { ipAddress, userAgent } = origin
    await tx.trustedBrowser.create({
      data: {
        ...{ userId, tokenHash, passwordFingerprint: passwordFingerprint(password), ipAddress, userAgent },
        ...{ factorConfirmedAt: found.twoFactorConfirmedAt, createdAt: at, lastUsedAt: at },
        expiresAt: new Date(origin.now + lifetime),
      },
    })
    const extra = await tx.trustedBrowser.findMany({
      where: { userId },
      orderBy: { lastUsedAt: 'desc' },
      skip: maxBrowsers,
    })
    await tx.trustedBrowser.deleteMany({ where: { id: { in: extra.map(({ id }) => id) } } })
    await recordEvent(tx, origin, { type: 'browser_trusted', userId: user.id })
  })
  app.cookies.set(request, reply, cookie, value, { maxAge: Math.floor(lifetime / 1000) })
}

/** A trusted browser, as its user sees it. */
export interface ListedBrowser {
  id: number
  ip_address: string | null
  user_agent: string | null
  created_at: string
  last_used_at: string
  expires_at: string
}

/** The browsers that a user trusts, the latest first. */
export async function listTrustedBrowsers(
  { prisma }: Pick<Database, 'prisma'>,
  userId: number,
  now: number,
): Promise<ListedBrowser[]> {
  const rows = await prisma.trustedBrowser.findMany({
    where: { userId: BigInt(userId), expiresAt: { gt: new Date(now) } },
    orderBy: { lastUsedAt: 'desc' },
  })
  return rows.map((row) => ({
    id: Number(row.id),
    ip_address: row.ipAddress,
    user_agent: row.userAgent,
    created_at: wireDate(row.createdAt),
    last_used_at: wireDate(row.lastUsedAt),
    expires_at: wireDate(row.expiresAt),
  }))
}

/** Removes a browser from the trusted browsers of a locked user; false if the user has none with this id. */
export async function revokeTrustedBrowser(
  tx: Tx,
  origin: EventContext,
  { id, userId }: { id: bigint; userId: number },
): Promise<boolean> {
  const { count } = await tx.trustedBrowser.deleteMany({ where: { id, userId: BigInt(userId) } })
  if (count > 0) await recordEvent(tx, origin, { type: 'browser_distrusted', userId })
  return count > 0
}

/** Removes all trusted browsers of a user. */
export async function revokeTrustedBrowsers(tx: Tx, userId: number): Promise<void> {
  await tx.trustedBrowser.deleteMany({ where: { userId: BigInt(userId) } })
}

/** Deletes the rows of browsers whose trust has expired. */
export async function pruneTrustedBrowsers(database: Database, now: number): Promise<void> {
  await deleteOutdated(database, { table: 'trusted_browsers', date: 'expires_at', before: new Date(now) })
}
