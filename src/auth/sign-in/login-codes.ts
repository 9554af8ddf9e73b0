import { randomInt } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { noteUnsent } from '../../identity/account-mail.ts'
import { browserName } from '../../identity/browser-name.ts'
import { laterContext, type RequestOrigin, recordEvent, recordEvents, requestOrigin } from '../../identity/events.ts'
import { lockUser } from '../../identity/lock.ts'
import { notify } from '../../identity/notices.ts'
import { canonicalEmail } from '../../identity/user.ts'
import {
  clearPassword,
  findUserByEmail,
  findUserById,
  isAddressInDoubt,
  markVerified,
  type UserWithPassword,
} from '../../identity/users.ts'
import { ownLink } from '../../pages/links.ts'
import { constantTimeEqual, sha256Hex } from '../../platform/crypto/hash.ts'
import { deriveKeys } from '../../platform/crypto/keys.ts'
import type { MacKey } from '../../platform/crypto/mac.ts'
import { limitedAddress } from '../../platform/http/client-address.ts'
import type { LimitRule } from '../../platform/limits/counters.ts'
import { tooManyRequests } from '../../platform/limits/too-many-requests.ts'
import type { MailShare } from '../../platform/mail/budget.ts'
import type { Visit } from '../access/visit.ts'
import { countAttempt, findCode, keepCode, takeCode, type WaitingCode } from './login-code-store.ts'
import type { Attempt } from './login-limiter.ts'
import { typedCode } from './typed-code.ts'

/** Lifetime of a code in milliseconds. */
const codeTtl = 600_000

/** Maximum number of attempts to enter one code. */
const maxAttempts = 5

const hour = 3_600_000

/** Codes for one address, of an account or not: limits mail and guesses. */
const accountRule: LimitRule = { max: 5, window: hour, block: 'growing' }

/** Source addresses may serve many users, so each may request this multiple of `rate_limits.mail` per hour. */
const addressShare = 10

const kind = 'login-code'

/** Page that requests a code. */
export const requestCodePath = '/oauth/email-code'

/** Page that takes a mailed code. */
export const enterCodePath = `${requestCodePath}/verify`

interface CodeRequest {
  /** Secret that binds the code to one browser or app: the session id, or the app's challenge token. */
  holder: string
  email: string
  remember: boolean
  /** Validated destination of the browser. */
  returnTo: string | null
  /** Whether the mail has a link to the page for the code. Apps have no such page. */
  link: boolean
}

/** A code to mail. */
interface CodeMail extends RequestOrigin {
  email: string
  code: string
  link: boolean
  expiresAt: number
  /** False if the mail budget of the mailbox is spent. */
  isAllowed?: boolean
}

/** A user who proved access to the mailbox of the account. */
interface Proved extends UserWithPassword {
  /** The account had a password from before its address was verified. */
  passwordRemoved: boolean
}

interface ProvedMailbox extends Proved, Pick<WaitingCode, 'remember' | 'returnTo'> {}

/**
 * Sign-in codes by mail, for browsers and apps. A code is a first factor: continue with `continueSignIn` or
 * `checkTokenSignIn`, which ask for the second one.
 */
export class LoginCodes {
  readonly #app: FastifyInstance
  readonly #keys: readonly MacKey[]

  constructor(app: FastifyInstance) {
    this.#app = app
    this.#keys = deriveKeys(app.config.current().app.secret, 'login-code')
    app.outbox.handle<CodeMail>(kind, (mail) => this.#mail(mail))
  }

  /**
   * Mails a code to the account of an address. Does the same work for every address, so that neither response nor timing
   * reveals whether the account exists. Throws 429 after too many requests for the address or from one source.
   */
  async request(visit: Visit, { holder, email, remember, returnTo, link }: CodeRequest): Promise<void> {
    const { database, outbox, mail: mailer } = this.#app
    const account = canonicalEmail(email)
    // A known browser has its own counters, so that strangers cannot stop the mails of an account's owner.
    const share = this.#app.loginLimiter.signedInBefore(visit, { email }) ? 'known' : 'guest'
    await this.#countRequest(visit, account, share)
    const origin = visit.origin
    const { now } = origin
    const code = String(randomInt(1_000_000)).padStart(6, '0')
    const id = sha256Hex(holder)
    const expiresAt = now + codeTtl
    const mac = this.#keys[0]?.sign(signedText(id, account, code)) ?? ''
    await database.transaction(async (tx) => {
      // By mailbox only; `#countRequest` counted the source. Counts unknown addresses too, so that a spent budget does not
      // reveal which addresses have an account.
      const isAllowed = await mailer.reserve(tx, account, { share, ipAddress: null })
      const mail: CodeMail = { email: account, code, link, expiresAt, isAllowed, ...requestOrigin(origin) }
      await keepCode(tx, id, { email: account, mac, remember, returnTo, now, expiresAt })
      await outbox.add(tx, kind, mail)
    })
  }

  /** Returns the request that waits for its code, or null. */
  waiting(holder: string): Promise<WaitingCode | null> {
    return findCode(this.#app.database, sha256Hex(holder), { maxAttempts, now: this.#app.clock.now() })
  }

  /**
   * Returns the user of the holder's code and uses it up; null if it is wrong or expired, or the account is unknown or
   * disabled. Throws 429 after too many failures. The address then counts as verified. An account with an unverified
   * address is claimed first: its password and other ways in may belong to another person.
   */
  async verify(visit: Visit, { holder, code }: { holder: string; code: string }): Promise<ProvedMailbox | null> {
    const { database, loginLimiter } = this.#app
    const waiting = await this.waiting(holder)
    if (!waiting) return null
    const { email, remember, returnTo } = waiting
    const attempt = await loginLimiter.attemptEmailCode(visit, email)
    let found: UserWithPassword | null
    let proved: Proved | null
    try {
      const isRight = await this.#use(sha256Hex(holder), waiting, typedCode(code).replaceAll(/[\s-]/g, ''))
      found = await findUserByEmail(database, email)
      proved = isRight && found ? await this.#proved(visit, found) : null
    } catch (error) {
      await attempt.withdrawn()
      throw error
    }
    if (!proved) {
      attempt.failed()
      this.#noteFailure(visit, found, attempt)
      return null
    }
    await attempt.succeeded().clear()
    return { ...proved, remember, returnTo }
  }

  /** Counts an attempt and uses a right code up; false for a wrong one. */
  async #use(id: string, waiting: WaitingCode, code: string): Promise<boolean> {
    const { database } = this.#app
    const text = signedText(id, waiting.email, code)
    const isCounted = await countAttempt(database, id, waiting, maxAttempts)
    const fits = this.#keys.some((key) => constantTimeEqual(key.sign(text), waiting.mac))
    return isCounted && fits && (await takeCode(database, id, waiting))
  }

  async #countRequest(visit: Visit, account: string, share: MailShare): Promise<void> {
    const { config, counters, clock } = this.#app
    const now = clock.now()
    const rate = config.current().rate_limits.mail
    const source = `login-codes-from:${limitedAddress(visit.address)}`
    const sourceRule =
      rate && visit.budget({ max: addressShare * rate.max, window: hour, block: 'growing' } satisfies LimitRule)
    const bySource = sourceRule && (await counters.hit(source, sourceRule, now))
    if (bySource?.allowed === false) throw tooManyRequests({ max: sourceRule?.max ?? 0, until: bySource.until, now })
    const byAccount = await counters.hit(`login-codes-to:${share}:${account}`, accountRule, now)
    if (byAccount.allowed) return
    throw tooManyRequests({ max: accountRule.max, until: byAccount.until, now }, { fields: ['email'] })
  }

  async #mail({ email, code, link, expiresAt, isAllowed, ...from }: CodeMail): Promise<void> {
    const app = this.#app
    const found = await findUserByEmail(app.database, email)
    if (!found || found.user.disabled || !app.config.current().login.email_code) return
    const { user } = found
    const origin = laterContext(app, from)
    const isInDoubt = await isAddressInDoubt(app.database.prisma, user.id, origin.now)
    if (isInDoubt || isAllowed === false) {
      const reason = isInDoubt ? 'unverified_address' : 'mail_limit'
      return noteUnsent(app, origin, { userId: user.id, template: 'login-code', reason })
    }
    const data = {
      code: `${code.slice(0, 3)} ${code.slice(3)}`,
      link: link ? ownLink(app.config.current(), `${enterCodePath}?code=${code}`) : null,
      minutes: codeTtl / 60_000,
      ipAddress: from.ipAddress,
      userAgent: from.userAgent === null ? null : browserName(from.userAgent),
    }
    await app.database.transaction(async (tx) => {
      const language = user.language ?? origin.language
      await app.mail.queueReserved(tx, { to: user.email, template: 'login-code', language, data, expiresAt })
      await recordEvent(tx, origin, { type: 'login_code_sent', userId: user.id })
    })
  }

  /** Returns the account of a right code, with a verified address; null if it was disabled or changed meanwhile. */
  async #proved(visit: Visit, found: UserWithPassword): Promise<Proved | null> {
    const { user } = found
    if (user.disabled) return null
    // With a second factor, the mailbox alone does not show whose account it is.
    if (user.email_verified_at !== null || this.#app.secondFactor.isAskedOf(user))
      return { ...found, passwordRemoved: false }
    const origin = visit.origin
    return this.#app.database.transaction(async (tx) => {
      await lockUser(this.#app.database, tx, user.id)
      if (await isAddressInDoubt(tx, user.id, origin.now)) return null
      const before = await findUserById({ prisma: tx }, user.id)
      const isClaimed = await markVerified(tx, user.id, user.email, origin.now)
      if (isClaimed) {
        await this.#app.accounts.claimAccount(tx, user.id)
        await clearPassword(tx, user.id, origin.now)
        await recordEvent(tx, origin, { type: 'account_claimed', userId: user.id })
      }
      const now = await findUserById({ prisma: tx }, user.id)
      if (!now || now.user.disabled || now.user.email !== user.email) return null
      const passwordRemoved = isClaimed && before !== null && before.password !== null
      if (passwordRemoved) await notify(this.#app, tx, origin, now.user, 'password_removed')
      return { ...now, passwordRemoved }
    })
  }

  /** Records the failure after the response, with the same writes for unknown addresses. */
  #noteFailure(visit: Visit, found: UserWithPassword | null, { isLast }: Attempt): void {
    const origin = visit.origin
    const reason = !found ? 'unknown_account' : found.user.disabled ? 'account_disabled' : 'wrong_code'
    const facts = { userId: found?.user.id ?? null, credential: 'email_code', reason, data: { channel: 'email_code' } }
    const lockout = isLast ? [{ type: 'lockout', ...facts } as const] : []
    this.#app.background(() => recordEvents(this.#app.database, origin, { type: 'login_failed', ...facts }, ...lockout))
  }
}

/** Returns the text that the stored MAC covers: the code with the request and the address it was mailed for. */
const signedText = (id: string, email: string, code: string): string => [id, email, code].join('\0')
