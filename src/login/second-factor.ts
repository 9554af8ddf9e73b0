import type { FastifyRequest } from 'fastify'
import type { CurrentConfig } from '../config/current.ts'
import type { Cipher } from '../crypto/cipher.ts'
import { constantTimeEqual } from '../crypto/hash.ts'
import { deriveCipher } from '../crypto/keys.ts'
import { randomAlphanumeric } from '../crypto/random.ts'
import type { Database } from '../database/database.ts'
import type { FieldErrors } from '../errors.ts'
import { eventContext, recordEvent, recordEvents } from '../users/events.ts'
import { notify } from '../users/notices.ts'
import { consumeStep, findTwoFactor, replaceRecoveryCodes, type StoredTwoFactor } from '../users/two-factor.ts'
import type { User } from '../users/user.ts'
import { endSessionsOf } from './end-sessions.ts'
import type { Channel } from './login-limiter.ts'
import { requireStillSignedIn } from './still-signed-in.ts'
import { newSecret, stepOfCode } from './totp.ts'

/** What somebody presents as their second factor; a recovery code wins if both are there. */
export interface Proof {
  code?: string | null | undefined
  recovery_code?: string | null | undefined
}

/** A new secret and its recovery codes, encrypted for the user's row. */
interface FreshFactor {
  secret: string
  recoveryCodes: string
}

/** How often a recovery code is looked for again when another one is being used up at the same moment. */
const maxTries = 8

const recoveryCode = (): string => `${randomAlphanumeric(10)}-${randomAlphanumeric(10)}`

/** The one way to check a second factor, whatever the door: TOTP codes (RFC 6238) and recovery codes, each good once. */
export class SecondFactor {
  readonly #config: CurrentConfig
  readonly #database: Database
  readonly #cipher: Cipher

  constructor(config: CurrentConfig, database: Database) {
    this.#config = config
    this.#database = database
    this.#cipher = deriveCipher(config.current().app.secret, 'two-factor')
  }

  /** Whether a password alone does not open this account: a factor was confirmed, and the feature is on. */
  isAskedOf(user: User): boolean {
    return user.two_factor_enabled && this.#config.current().two_factor.enabled
  }

  /** A new secret with eight recovery codes. */
  fresh(userId: number): FreshFactor {
    return { secret: this.#seal(userId, newSecret()), recoveryCodes: this.freshRecoveryCodes(userId) }
  }

  /** Eight new recovery codes, encrypted. */
  freshRecoveryCodes(userId: number): string {
    return this.#seal(userId, JSON.stringify(Array.from({ length: 8 }, recoveryCode)))
  }

  /** The secret in base32; throws when no key of the configuration opens it. */
  secretOf(userId: number, { secret }: StoredTwoFactor): string | null {
    return secret === null ? null : this.#open(userId, secret)
  }

  /** The recovery codes in plain text; empty without a second factor. */
  recoveryCodesOf(userId: number, { recoveryCodes }: StoredTwoFactor): string[] {
    return recoveryCodes === null ? [] : JSON.parse(this.#open(userId, recoveryCodes))
  }

  /**
   * Whether the proof is good, and uses it up: no code works twice, even in parallel.
   * Throws 429 when there were too many failures on the account, at all doors together.
   */
  async check(request: FastifyRequest, user: User, proof: Proof, channel: Channel): Promise<boolean> {
    if (!proof.code && !proof.recovery_code) {
      request.server.metrics?.login(channel, 'second_factor_needed')
      return false
    }
    return this.#attempted(
      request,
      user,
      channel,
      async () =>
        (await this.#useRecoveryCode(request, user, proof.recovery_code)) ||
        (await this.#useCode(request, user, proof.code, 'check')),
    )
  }

  /** Makes an enabled factor count from now on, by a code of it; false when the code is not good. Limited as `check` is. */
  async confirm(request: FastifyRequest, user: User, { code }: Proof): Promise<boolean> {
    if (!code) return false
    return this.#attempted(request, user, 'confirm', () => this.#useCode(request, user, code, 'confirm'))
  }

  async #attempted(
    request: FastifyRequest,
    user: User,
    channel: Channel,
    work: () => Promise<boolean>,
  ): Promise<boolean> {
    const attempt = await request.server.loginLimiter.attemptSecondFactor(request, user, channel)
    let fits: boolean
    try {
      fits = await work()
    } catch (error) {
      await attempt.withdrawn()
      throw error
    }
    if (fits) {
      await attempt.succeeded()
      return true
    }
    const facts = { userId: user.id, data: { channel } }
    const lockout = attempt.isLast ? [{ type: 'lockout', ...facts } as const] : []
    await recordEvents(this.#database, eventContext(request), { type: 'two_factor_failed', ...facts }, ...lockout)
    return false
  }

  async #useCode(request: FastifyRequest, user: User, code: Proof['code'], use: 'check' | 'confirm'): Promise<boolean> {
    if (!code) return false
    const stored = await findTwoFactor(this.#database, user.id)
    const confirms = use === 'confirm'
    if (!stored?.secret || stored.confirmed === confirms) return false
    const now = request.server.clock.now()
    const { window } = this.#config.current().two_factor
    const secret = this.#open(user.id, stored.secret)
    const step = stepOfCode(code, { secret, now, window, after: stored.lastStep })
    if (step === null) return false
    const used = { secret: stored.secret, step, ...(confirms ? { confirmedAt: new Date(now) } : {}) }
    return this.#database.transaction(async (tx) => {
      const isUsed = await consumeStep(tx, user.id, used)
      if (isUsed && confirms) {
        await requireStillSignedIn(tx, request)
        // The others were signed in without this factor.
        const count = await endSessionsOf(request.server, tx, user.id, request)
        const data = { ended_sessions: count }
        await recordEvent(tx, eventContext(request), { type: 'two_factor_confirmed', userId: user.id, data })
        await notify(request.server, tx, eventContext(request), user, 'two_factor_enabled')
      }
      return isUsed
    })
  }

  async #useRecoveryCode(request: FastifyRequest, user: User, code: Proof['recovery_code']): Promise<boolean> {
    if (!code) return false
    for (let tries = 0; tries < maxTries; tries++) {
      const stored = await findTwoFactor(this.#database, user.id)
      if (!stored?.confirmed || stored.recoveryCodes === null) return false
      const codes = this.recoveryCodesOf(user.id, stored)
      // Every code is compared, so that the time tells nothing of which one fits.
      const fitting = codes.map((candidate) => constantTimeEqual(candidate, code)).indexOf(true)
      if (fitting < 0) return false
      const fresh = this.#seal(user.id, JSON.stringify(codes.with(fitting, recoveryCode())))
      const found = stored.recoveryCodes
      const isUsed = await this.#database.transaction(async (tx) => {
        // What was read is the condition: each encryption differs, so of two that use one code only one finds it.
        if (!(await replaceRecoveryCodes(tx, user.id, found, fresh))) return false
        await recordEvent(tx, eventContext(request), { type: 'recovery_code_used', userId: user.id })
        await notify(request.server, tx, eventContext(request), user, 'recovery_code_used')
        return true
      })
      if (isUsed) return true
    }
    return false
  }

  #seal(userId: number, text: string): string {
    return this.#cipher.encrypt(text, `user ${userId}`)
  }

  #open(userId: number, text: string): string {
    const opened = this.#cipher.decrypt(text, `user ${userId}`)
    if (opened === null) throw new Error(`The second factor of user ${userId} cannot be decrypted: app.secret changed.`)
    return opened
  }
}

/** What a bad proof is told: at the recovery code if one was given, else at the code. */
export const secondFactorErrors = ({ recovery_code }: Proof): FieldErrors =>
  recovery_code
    ? { recovery_code: ['The provided two factor recovery code was invalid.'] }
    : { code: ['The provided two factor authentication code was invalid.'] }
