import type { Clock } from '../../../clock.ts'
import type { CurrentConfig } from '../../../config/current.ts'
import { tooManyRequests } from '../../../errors.ts'
import { limitedAddress } from '../../../http/client-address.ts'
import type { Limits } from '../../../login/failure-limits.ts'

/** As many clients and addresses as are remembered to have failed here. */
const maxSuspects = 10_000

/** 429 until a moment (unix ms). */
const blocked = (until: number, now: number): Error =>
  tooManyRequests('Too many failed client authentications.', Math.max(1, Math.ceil((until - now) / 1000)))

/**
 * Limits failed client authentications by client and address, for all replicas together, as `rate_limits.token` says.
 * A pair that never failed at this process costs nothing: the database is asked only for one that did. Of the guesses at
 * a secret no more than `max` are answered, and one more for each further replica.
 */
export class ClientLimits {
  readonly #limits: Limits
  readonly #config: CurrentConfig
  readonly #clock: Clock
  /** Until when (unix ms) a pair is looked at. */
  readonly #suspects = new Map<string, number>()

  constructor(limits: Limits, config: CurrentConfig, clock: Clock) {
    this.#limits = limits
    this.#config = config
    this.#clock = clock
  }

  /** What a client's failures are counted under. Names that nobody registered share one: they fill no table. */
  nameOf(clientId: string | undefined, address: string): string {
    return `client:${clientId ?? ''}|${limitedAddress(address)}`
  }

  /** Throws 429 while the pair is blocked. */
  async check(name: string): Promise<void> {
    const now = this.#clock.now()
    if (this.#config.current().rate_limits.token === null || !this.#isSuspect(name, now)) return
    const until = await this.#limits.blockedUntil(name, now)
    if (until !== null) throw blocked(until, now)
  }

  /** Whether the secret was right; throws 429, right or not, once too many were wrong. */
  async attempt(name: string, isRight: boolean): Promise<boolean> {
    const rate = this.#config.current().rate_limits.token
    const now = this.#clock.now()
    if (rate === null || (isRight && !this.#isSuspect(name, now))) return isRight
    // Before anything is waited for: of many guesses at once, those after the first wrong one are counted in advance.
    this.#suspect(name, now + rate.window)
    const counted = await this.#limits.reserve(name, { ...rate, block: 'window' }, now)
    if (!counted.allowed) throw blocked(counted.until, now)
    if (isRight) await this.#limits.release(name)
    return isRight
  }

  #isSuspect(name: string, now: number): boolean {
    return (this.#suspects.get(name) ?? 0) > now
  }

  #suspect(name: string, until: number): void {
    this.#suspects.delete(name)
    const [oldest] = this.#suspects.keys()
    if (oldest !== undefined && this.#suspects.size >= maxSuspects) this.#suspects.delete(oldest)
    this.#suspects.set(name, until)
  }
}
