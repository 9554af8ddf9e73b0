import { recordEvent, recordEvents } from '../../identity/events.ts'
import { notify } from '../../identity/notices.ts'
import { consumeStep, findTwoFactor, replaceRecoveryCodes, type StoredTwoFactor } from '../../identity/two-factor.ts'
import type { User } from '../../identity/user.ts'
import type { CurrentConfig } from '../../platform/config/current.ts'
import type { Cipher } from '../../platform/crypto/cipher.ts'
import { constantTimeEqual } from '../../platform/crypto/hash.ts'
import { deriveCipher } from '../../platform/crypto/keys.ts'
import { randomReadable } from '../../platform/crypto/random.ts'
import type { Database } from '../../platform/database/database.ts'
import { type FieldErrors, type HttpError, secondFactorMissing, validationFailed } from '../../platform/errors.ts'
import type { Visit } from '../access/visit.ts'
import type { AuthenticationMethod } from './authentication-methods.ts'
import type { Channel } from './channel.ts'
import { endSessionsOf } from './end-sessions.ts'
import { requireStillSignedIn } from './still-signed-in.ts'
import { newSecret, stepOfCode } from './totp.ts'
import { typedCode } from './typed-code.ts'

/** Input for the second factor. A recovery code takes precedence. */
export interface SecondFactorInput {
  code?: string | null | undefined
  recovery_code?: string | null | undefined
}

/** A new secret and its recovery codes, encrypted. */
interface FreshFactor {
  secret: string
  recoveryCodes: string
}

/** A recovery code, or the replacement of a used one, which the user has not seen yet. */
type StoredCode = string | { replacement: string }

const plainCode = (code: StoredCode): string => (typeof code === 'string' ? code : code.replacement)

/** Maximum retries when another recovery code is used concurrently. */
const maxTries = 8

const recoveryCode = (): string => `${randomReadable(10)}-${randomReadable(10)}`

/** The letters and digits of a recovery code. People copy codes by hand, in either case, and some keyboards add spaces. */
const lettersOf = (code: string): string =>
  typedCode(code)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '')

/** Checks second factors for all entry points: TOTP codes (RFC 6238) and recovery codes. Codes cannot be replayed. */
export class SecondFactor {
  readonly #config: CurrentConfig
  readonly #database: Database
  readonly #cipher: Cipher

  constructor(config: CurrentConfig, database: Database) {
    this.#config = config
    this.#database = database
    this.#cipher = deriveCipher(config.current().app.secret, 'two-factor')
  }

  /** Tests whether the account requires a second factor: confirmed, and enabled in the configuration. */
  isAskedOf(user: User): boolean {
    return user.two_factor_enabled && this.#config.current().two_factor.enabled
  }

  /** Tests whether the user must prove a second factor after a first one by this method. */
  isAskedAfter(user: User, { amr }: AuthenticationMethod): boolean {
    return this.isAskedOf(user) && !amr.includes('mfa')
  }

  /** Creates a factor with eight recovery codes, by default with a random secret. */
  fresh(userId: number, secret = newSecret()): FreshFactor {
    return { secret: this.#seal(userId, secret), recoveryCodes: this.freshRecoveryCodes(userId) }
  }

  /** Encrypts the factor of a user of another application. */
  kept(userId: number, secret: string, recoveryCodes: readonly string[]): FreshFactor {
    return { secret: this.#seal(userId, secret), recoveryCodes: this.#seal(userId, JSON.stringify(recoveryCodes)) }
  }

  /** Creates eight recovery codes, encrypted. */
  freshRecoveryCodes(userId: number): string {
    return this.#seal(userId, JSON.stringify(Array.from({ length: 8 }, recoveryCode)))
  }

  /** Returns the secret in base32. Throws if no configured key decrypts it. */
  secretOf(userId: number, { secret }: StoredTwoFactor): string | null {
    return secret === null ? null : this.#open(userId, secret)
  }

  /** Returns the recovery codes in plain text; empty without a second factor. */
  recoveryCodesOf(userId: number, stored: StoredTwoFactor): string[] {
    return this.#storedCodes(userId, stored).map(plainCode)
  }

  /** Counts the codes that the user received and has not used. */
  recoveryCodesLeft(userId: number, stored: StoredTwoFactor): number {
    return this.#storedCodes(userId, stored).filter((code) => typeof code === 'string').length
  }

  #storedCodes(userId: number, { recoveryCodes }: StoredTwoFactor): StoredCode[] {
    return recoveryCodes === null ? [] : JSON.parse(this.#open(userId, recoveryCodes))
  }

  /**
   * Checks a code and marks it as used; no code works twice, even in parallel. Throws 429 after too many failures on
   * the account at all entry points. `decide` runs before a right code is used up: an error that it throws leaves the code.
   */
  async check(
    visit: Visit,
    user: User,
    proof: SecondFactorInput,
    channel: Channel,
    decide: () => Promise<unknown> = async () => {},
  ): Promise<boolean> {
    if (!proof.code && !proof.recovery_code) {
      visit.app.metrics?.login(channel, 'second_factor_needed')
      return false
    }
    return this.#attempted(
      visit,
      user,
      channel,
      async () =>
        (await this.#useRecoveryCode(visit, user, proof.recovery_code, decide)) ||
        (await this.#useCode(visit, user, proof.code, 'check', decide)),
    )
  }

  /** Activates an enabled factor with a code; false for an invalid code. Limited like `check`. */
  async confirm(visit: Visit, user: User, { code }: SecondFactorInput): Promise<boolean> {
    if (!code) return false
    return this.#attempted(visit, user, 'confirm', () => this.#useCode(visit, user, code, 'confirm'))
  }

  async #attempted(visit: Visit, user: User, channel: Channel, work: () => Promise<boolean>): Promise<boolean> {
    const attempt = await visit.app.loginLimiter.attemptSecondFactor(visit, user, channel)
    let fits: boolean
    try {
      fits = await work()
    } catch (error) {
      await attempt.withdrawn()
      throw error
    }
    if (fits) {
      await attempt.succeeded().clear()
      return true
    }
    attempt.failed()
    const facts = { userId: user.id, reason: 'wrong_code', data: { channel } }
    const lockout = attempt.isLast ? [{ type: 'lockout', ...facts } as const] : []
    await recordEvents(this.#database, visit.origin, { type: 'two_factor_failed', ...facts }, ...lockout)
    return false
  }

  async #useCode(
    visit: Visit,
    user: User,
    code: SecondFactorInput['code'],
    use: 'check' | 'confirm',
    decide: () => Promise<unknown> = async () => {},
  ): Promise<boolean> {
    if (!code) return false
    const stored = await findTwoFactor(this.#database, user.id)
    const confirms = use === 'confirm'
    if (!stored?.secret || stored.confirmed === confirms) return false
    const now = visit.app.clock.now()
    const { window } = this.#config.current().two_factor
    const secret = this.#open(user.id, stored.secret)
    const step = stepOfCode(typedCode(code), { secret, now, window, after: stored.lastStep })
    if (step === null) return false
    await decide()
    const used = { secret: stored.secret, step, ...(confirms ? { confirmedAt: new Date(now) } : {}) }
    return this.#database.transaction(async (tx) => {
      const isUsed = await consumeStep(tx, user.id, used)
      if (isUsed && confirms) {
        await requireStillSignedIn(tx, visit)
        // Other sessions signed in without this factor.
        const count = await endSessionsOf(visit.app, tx, user.id, visit)
        const data = { ended_sessions: count }
        await recordEvent(tx, visit.origin, { type: 'two_factor_confirmed', userId: user.id, data })
        await notify(visit.app, tx, visit.origin, user, 'two_factor_enabled')
      }
      return isUsed
    })
  }

  async #useRecoveryCode(
    visit: Visit,
    user: User,
    code: SecondFactorInput['recovery_code'],
    decide: () => Promise<unknown>,
  ): Promise<boolean> {
    const typed = lettersOf(code ?? '')
    if (typed === '') return false
    for (let tries = 0; tries < maxTries; tries++) {
      const stored = await findTwoFactor(this.#database, user.id)
      if (!stored?.confirmed || stored.recoveryCodes === null) return false
      const codes = this.#storedCodes(user.id, stored)
      // Compares every code, so that the time does not reveal which one matches.
      const fitting = codes.map((candidate) => constantTimeEqual(lettersOf(plainCode(candidate)), typed)).indexOf(true)
      if (fitting < 0) return false
      if (tries === 0) await decide()
      const fresh = this.#seal(user.id, JSON.stringify(codes.with(fitting, { replacement: recoveryCode() })))
      const found = stored.recoveryCodes
      const isUsed = await this.#database.transaction(async (tx) => {
        // Compare-and-swap on the ciphertext: of two concurrent uses of one code, only one succeeds.
        if (!(await replaceRecoveryCodes(tx, user.id, found, fresh))) return false
        await recordEvent(tx, visit.origin, { type: 'recovery_code_used', userId: user.id })
        await notify(visit.app, tx, visit.origin, user, 'recovery_code_used')
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

/** 422 for a sign-in whose second factor is missing or wrong. */
export const secondFactorRefused = (proof: SecondFactorInput, challenge?: string): HttpError => {
  const options = challenge === undefined ? {} : { challenge }
  const isMissing = !proof.code && !proof.recovery_code
  return isMissing ? secondFactorMissing(422, options) : validationFailed(secondFactorErrors(proof), options)
}

/** Validation errors for an invalid code: on `recovery_code` if it was given, otherwise on `code`. */
export const secondFactorErrors = ({ recovery_code }: SecondFactorInput): FieldErrors =>
  recovery_code
    ? { recovery_code: ['The provided two factor recovery code was invalid.'] }
    : { code: ['The provided two factor authentication code was invalid.'] }
