import type { FastifyReply, FastifyRequest } from 'fastify'
import { recordEvent } from '../../identity/events.ts'
import { lockUser } from '../../identity/lock.ts'
import { notify } from '../../identity/notices.ts'
import type { User } from '../../identity/user.ts'
import { isUnchanged, lockActiveAccounts, type UserWithPassword } from '../../identity/users.ts'
import type { CurrentConfig } from '../../platform/config/current.ts'
import { constantTimeEqual, sha256Hex } from '../../platform/crypto/hash.ts'
import { deriveKeys } from '../../platform/crypto/keys.ts'
import type { MacKey } from '../../platform/crypto/mac.ts'
import { randomId } from '../../platform/crypto/random.ts'
import type { Tx } from '../../platform/database/database.ts'
import { asBigint, asText, asTime, type Sql, sql } from '../../platform/database/sql.ts'
import { unauthenticated } from '../../platform/errors.ts'
import { type BoundSessions, boundCookie } from '../access/bound-sessions.ts'
import { SessionCaller } from '../access/caller.ts'
import type { CookiePrefix, Cookies } from '../access/cookies.ts'
import type { Remembered } from '../access/find-caller.ts'
import type { RememberRow } from '../access/lookups/lookups.ts'
import { passwordFingerprint, passwordFingerprintMatches } from '../access/password-fingerprint.ts'
import { type Visit, visitOf } from '../access/visit.ts'
import { isRefusedSignIn } from './decisions.ts'
import { endDevice } from './end-sessions.ts'
import { renewBrowser } from './known-browser.ts'
import { insertSession, switchSession } from './sign-in.ts'

const rememberCookie = 'svc_remember'

/** Id and secret of a remembered device, from its cookie. */
interface Presented {
  id: bigint
  secret: string
  /** MAC which proves that svc issued the secret for the device. */
  tag: string
}

/** A new remember token: its row and its cookie value. */
interface NewToken {
  id: bigint
  cookie: string
}

/** Parses the cookie; null for a malformed one. */
function parse(cookie: string | undefined): Presented | null {
  const match = /^(\d{1,18})\.([\w-]{43})\.([\w-]{43})$/.exec(cookie ?? '')
  return match?.[1] && match[2] && match[3] ? { id: BigInt(match[1]), secret: match[2], tag: match[3] } : null
}

/** Tests for the device's current secret, or the previous one while the current one is unused. */
const isCurrent = (row: Pick<RememberRow, 'tokenHash' | 'previousHash'>, secret: string): boolean => {
  const hash = sha256Hex(secret)
  return constantTimeEqual(hash, row.tokenHash) || constantTimeEqual(hash, row.previousHash ?? '')
}

/** Returns the text to hash for a secret, which binds the secret to the prefix of its cookie. */
const bindSecret = (secret: string, prefix: CookiePrefix): string => prefix + secret

/** Maximum number of remembered devices of a user. */
const maxDevices = 100

/** Forgets the least recently used devices until there is room for another. Their sessions continue until they end. */
const forgetLeastUsed = (userId: bigint | Sql): Sql => sql`
  DELETE FROM remember_tokens WHERE id IN (
    SELECT id FROM remember_tokens WHERE user_id = ${userId}
    ORDER BY last_used_at DESC, id DESC LIMIT ${maxDevices} OFFSET ${maxDevices - 1})`

/**
 * Remember-me: one row per device, rotated at each use by one conditional write. The next secret is an HMAC of the
 * previous one, so that parallel requests with one cookie all get the same successor. The previous secret stays valid
 * until the next one is used, so that a lost response does no harm. A later use means that the secret was copied: svc
 * ends the device, because it cannot tell the copy from the original.
 */
export class RememberTokens {
  readonly #config: CurrentConfig
  readonly #cookies: Cookies
  readonly #bound: BoundSessions
  readonly #keys: readonly MacKey[]
  /** Questions to the hook before_sign_in that wait for an answer, by device and address. */
  readonly #deciding = new Map<string, Promise<'allowed' | 'refused'>>()

  constructor(config: CurrentConfig, cookies: Cookies, bound: BoundSessions) {
    this.#config = config
    this.#bound = bound
    this.#cookies = cookies
    this.#keys = deriveKeys(config.current().app.secret, 'remember')
  }

  /** Returns the caller of the remember-me cookie, or null. Writes nothing. */
  find = async (visit: Visit): Promise<Remembered | null> => {
    const presented = this.#presented(visit)
    if (!presented) return null
    const row = await visit.app.lookups.rememberToken(presented.id)
    if (!row?.user || !this.#isLive(row, visit.app.clock.now())) return null
    if (!isCurrent(row, presented.secret)) {
      if (this.#wasIssued(presented)) await this.#endReplayed(visit, presented, row.user)
      return null
    }
    const bindable = { bindingId: row.bindingId, boundAt: null, user: row.user }
    const now = visit.app.clock.now()
    if (this.#bound.isHeld(bindable, visit.cookie(boundCookie), now)) {
      const { state } = visit.session
      if (state) state.held ??= { ...bindable, publicId: null, createdAt: now }
      return null
    }
    return {
      caller: new SessionCaller({ id: null, publicId: 'remembered', bindingId: row.bindingId }, row.user),
      resume: (request, reply) => this.#resume(request, reply, presented, row),
    }
  }

  /** Inserts the token of a new device. Requires the user lock. */
  async create(tx: Tx, visit: Visit, found: UserWithPassword): Promise<NewToken> {
    const secret = randomId()
    await tx.$executeRaw(forgetLeastUsed(BigInt(found.user.id)))
    const row = await tx.rememberToken.create({ data: this.#columns(visit, found, secret) })
    return { id: row.id, cookie: this.#cookieOf(row.id, secret) }
  }

  /** Does the work of `create` as parts of a statement on PostgreSQL that locks the user in its part `account`. */
  insertion(visit: Visit, found: UserWithPassword) {
    const secret = randomId()
    const row = this.#columns(visit, found, secret)
    return {
      forgetting: forgetLeastUsed(sql`(SELECT id FROM account)`),
      insertion: sql`
        INSERT INTO remember_tokens
          (user_id, token_hash, password_mark, ip_address, user_agent, created_at, last_used_at, expires_at)
        SELECT ${asBigint(row.userId)}, ${asText(row.tokenHash)}, ${asText(row.passwordFingerprint)},
          ${asText(row.ipAddress)}, ${asText(row.userAgent)}, ${asTime(row.createdAt)}, ${asTime(row.lastUsedAt)},
          ${asTime(row.expiresAt)} FROM account`,
      cookieOf: (id: bigint) => this.#cookieOf(id, secret),
    }
  }

  #columns({ origin: { ipAddress, userAgent, now } }: Visit, { user, password }: UserWithPassword, secret: string) {
    return {
      userId: BigInt(user.id),
      tokenHash: sha256Hex(this.#withPrefix(secret)),
      passwordFingerprint: passwordFingerprint(password),
      ipAddress,
      userAgent,
      createdAt: new Date(now),
      lastUsedAt: new Date(now),
      expiresAt: new Date(now + this.#config.current().session.remember_lifetime),
    }
  }

  isPresented(visit: Visit): boolean {
    return this.#presented(visit) !== null
  }

  /** Replaces a device's token; only the new cookie is valid. */
  async replace(tx: Tx, id: bigint, mark: string): Promise<NewToken | null> {
    const old = await tx.rememberToken.findUnique({ where: { id } })
    if (!old) return null
    const secret = randomId()
    await tx.rememberToken.delete({ where: { id } })
    const { userId, ipAddress, userAgent, createdAt, lastUsedAt, expiresAt, bindingId } = old
    const kept = { userId, ipAddress, userAgent, createdAt, lastUsedAt, expiresAt, bindingId }
    const row = await tx.rememberToken.create({
      data: { ...kept, tokenHash: sha256Hex(this.#withPrefix(secret)), passwordFingerprint: mark },
    })
    if (bindingId !== null)
      await tx.sessionBinding.updateMany({ where: { id: bindingId }, data: { rememberTokenId: row.id } })
    return { id: row.id, cookie: this.#cookieOf(row.id, secret) }
  }

  /** Returns the device of the request's cookie, or null if the cookie is missing or invalid. */
  async presentedDevice(tx: Tx, visit: Visit): Promise<{ id: bigint; userId: number } | null> {
    const presented = this.#presented(visit)
    if (!presented) return null
    const hash = sha256Hex(presented.secret)
    const row = await tx.rememberToken.findFirst({
      where: { id: presented.id, OR: [{ tokenHash: hash }, { previousHash: hash }] },
      select: { userId: true },
    })
    return row && { id: presented.id, userId: Number(row.userId) }
  }

  /** Sends the cookie, or deletes it (null) if the browser has one. */
  sendCookie(request: FastifyRequest, reply: FastifyReply, value: string | null): void {
    const { cookies } = request.server
    if (value !== null) {
      const maxAge = this.#config.current().session.remember_lifetime / 1000
      cookies.set(request, reply, rememberCookie, value, { maxAge })
    } else if (request.cookies[rememberCookie] !== undefined) {
      cookies.clear(request, reply, rememberCookie)
    }
  }

  #withPrefix(secret: string): string {
    return bindSecret(secret, this.#cookies.prefix(rememberCookie))
  }

  #presented(visit: Visit): Presented | null {
    const found = parse(visit.cookie(rememberCookie))
    return found && { ...found, secret: bindSecret(found.secret, visit.cookiePrefix(rememberCookie)) }
  }

  #isLive(row: RememberRow, now: number): boolean {
    return (
      now < row.expiresAt &&
      row.user?.disabled === false &&
      passwordFingerprintMatches(row.passwordFingerprint, row.password)
    )
  }

  #cookieOf(id: bigint, secret: string): string {
    return `${id}.${secret}.${this.#keys[0]?.sign(`issued\0${id}\0${this.#withPrefix(secret)}`)}`
  }

  #wasIssued({ id, secret, tag }: Presented): boolean {
    return this.#keys.some((key) => constantTimeEqual(key.sign(`issued\0${id}\0${secret}`), tag))
  }

  /** Ends the device whose superseded secret was presented, once, and notifies its user. */
  async #endReplayed({ app, origin }: Visit, { id, secret }: Presented, user: User): Promise<void> {
    await app.database.transaction(async (tx) => {
      await lockUser(app.database, tx, user.id)
      const row = await tx.rememberToken.findUnique({ where: { id } })
      if (!row || isCurrent(row, secret)) return
      const publicIds = await endDevice(tx, BigInt(user.id), id)
      await app.sessionListener.ended(tx, { publicIds })
      await recordEvent(tx, origin, { type: 'remember_replayed', userId: user.id })
      await notify(app, tx, origin, user, 'remember_replayed')
    })
  }

  async #resume(request: FastifyRequest, reply: FastifyReply, presented: Presented, row: RememberRow): Promise<void> {
    const visit = visitOf(request)
    const { app } = visit
    const { user, password } = row
    const key = this.#keys[0]
    if (!user || !key) throw unauthenticated()
    if ((await this.#decide(visit, row.id, user)) !== 'allowed') {
      this.sendCookie(request, reply, null)
      throw unauthenticated()
    }
    // Parallel requests find the winner's session under this id. It is as secret as the cookie that it derives from.
    const shared = key.sign(`session\0${presented.secret}`)
    const id = sha256Hex(shared)

    const successor = await app.database.transaction(async (tx) => {
      const others = await app.sessionListener.usersOf(tx, visit)
      const accounts = await lockActiveAccounts(app.database, tx, [user.id, ...others])
      // The account may have been disabled since the look-up.
      if (!isUnchanged(accounts.get(user.id), { user, password })) throw unauthenticated()
      const now = app.clock.now()
      const next = await this.#rotate(tx, visit, presented)
      const { lifetime, absolute_lifetime } = this.#config.current().session
      const live = {
        userId: BigInt(user.id),
        lastSeenAt: { gt: new Date(now - lifetime) },
        createdAt: { gt: new Date(now - absolute_lifetime) },
      }
      if ((await tx.session.count({ where: { id, ...live } })) > 0) return next
      await tx.session.deleteMany({ where: { id } })
      // A remembered browser is no new proof of identity, so the original sign-in time counts.
      const { createdAt } = await tx.rememberToken.findUniqueOrThrow({
        where: { id: row.id },
        select: { createdAt: true },
      })
      const proof = { at: createdAt.getTime(), methods: [] }
      await insertSession(tx, visit, {
        ...{ sessionId: shared, user, password, rememberTokenId: row.id, bindingId: row.bindingId, proof },
      })
      await recordEvent(tx, visit.origin, { type: 'login_remembered', userId: user.id })
      return next
    })
    if (successor !== null) this.sendCookie(request, reply, this.#cookieOf(row.id, successor))
    renewBrowser(request, reply, { user, password })
    await switchSession(request, reply, shared)
  }

  /**
   * Asks the hook before_sign_in, once for parallel requests from one address. A remembered browser has proved no second
   * factor. svc forgets a refused browser, so that it does not ask about each of its requests.
   */
  async #decide(visit: Visit, id: bigint, user: User): Promise<'allowed' | 'refused'> {
    const key = `${id} ${visit.address}`
    const pending = this.#deciding.get(key) ?? this.#ask(visit, id, user)
    this.#deciding.set(key, pending)
    return pending.finally(() => this.#deciding.delete(key))
  }

  async #ask(visit: Visit, id: bigint, user: User): Promise<'allowed' | 'refused'> {
    const { app } = visit
    const signIn = { user, channel: 'remembered', method: 'remembered', amr: [], isNewAccount: false } as const
    const decision = await app.decisions.signIn(visit, signIn).catch((error) => {
      if (isRefusedSignIn(error)) return 'refused'
      throw error
    })
    if (decision === 'allowed') return decision
    await app.database.transaction(async (tx) => {
      await lockUser(app.database, tx, user.id)
      await app.sessionListener.ended(tx, { publicIds: await endDevice(tx, BigInt(user.id), id) })
    })
    return 'refused'
  }

  /** Returns the next secret, written now or by a parallel request; null if only a previous key can derive it. */
  async #rotate(tx: Tx, { origin }: Visit, { id, secret }: Presented): Promise<string | null> {
    const { ipAddress, userAgent, now } = origin
    const use = { ipAddress, userAgent, lastUsedAt: new Date(now) }
    const successors = this.#keys.map((key) => key.sign(`successor\0${secret}`))
    const [first = ''] = successors
    const previousHash = sha256Hex(secret)
    const rotated = await tx.rememberToken.updateMany({
      where: { id, tokenHash: previousHash },
      data: { tokenHash: sha256Hex(this.#withPrefix(first)), previousHash, ...use },
    })
    if (rotated.count > 0) return first
    // A write, so that requests with the previous secret wait for one another.
    const used = await tx.rememberToken.updateMany({ where: { id, previousHash }, data: use })
    if (used.count === 0) throw unauthenticated()
    const row = await tx.rememberToken.findUniqueOrThrow({ where: { id }, select: { tokenHash: true } })
    return successors.find((successor) => sha256Hex(this.#withPrefix(successor)) === row.tokenHash) ?? null
  }
}
