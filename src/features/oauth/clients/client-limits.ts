import type { Clock } from '../../../platform/clock.ts'
import type { CurrentConfig } from '../../../platform/config/current.ts'
import { limitedAddress } from '../../../platform/http/client-address.ts'
import type { Counters } from '../../../platform/limits/counters.ts'
import { type Refusal, tooManyRequests } from '../../../platform/limits/too-many-requests.ts'

/** Maximum number of pairs remembered after a failure. */
const maxSuspects = 10_000

const tooManyFailures = (refusal: Refusal): Error =>
  tooManyRequests(refusal, { message: () => 'Too many failed client authentications.' })

/**
 * Limits failed client authentications by client and address, on all replicas together, by `rate_limits.token`. Queries
 * the counters only for a pair that failed in this process before, so that other clients cost no query. At most `max`
 * guesses at a secret are checked, and one more for each further replica. Uses the counters directly, because
 * @fastify/rate-limit cannot count failures alone.
 */
export class ClientLimits {
  readonly #counters: Counters
  readonly #config: CurrentConfig
  readonly #clock: Clock
  /** Pairs that failed, and the time (Unix ms) until which svc queries their counter. */
  readonly #suspects = new Map<string, number>()

  constructor(counters: Counters, config: CurrentConfig, clock: Clock) {
    this.#counters = counters
    this.#config = config
    this.#clock = clock
  }

  /** Returns the name of the counter. Unregistered clients share one, so that they cannot fill the table. */
  nameOf(clientId: string | undefined, address: string): string {
    return `client:${clientId ?? ''}|${limitedAddress(address)}`
  }

  /** Throws 429 while the pair is blocked. */
  async check(name: string): Promise<void> {
    const rate = this.#config.current().rate_limits.token
    const now = this.#clock.now()
    if (rate === null || !this.isSuspect(name, now)) return
    const until = await this.#counters.blockedUntil(name, { ...rate, block: 'window' }, now)
    if (until !== null) throw tooManyFailures({ max: rate.max, until, now })
  }

  /** Returns whether the secret was right. Throws 429, for a right secret too, after too many wrong ones. */
  async attempt(name: string, isRight: boolean): Promise<boolean> {
    const rate = this.#config.current().rate_limits.token
    const now = this.#clock.now()
    if (rate === null) return isRight
    if (isRight) {
      // Without counting, so that parallel requests with the right secret do not use up the limit.
      await this.check(name)
      return true
    }
    // Synchronously, so that concurrent guesses after the first wrong one count in advance.
    this.#suspect(name, now + rate.window)
    const hit = await this.#counters.hit(name, { ...rate, block: 'window' }, now)
    if (!hit.allowed) throw tooManyFailures({ max: rate.max, until: hit.until, now })
    return false
  }

  /** Tests whether the pair failed recently in this process, so that its counter decides. */
  isSuspectPair(clientId: string, address: string): boolean {
    // Without suspects, which is usual, the name is not needed.
    return this.#suspects.size > 0 && this.isSuspect(this.nameOf(clientId, address))
  }

  /** Tests whether the pair failed recently in this process, so that `check` and `attempt` query its counter. */
  isSuspect(name: string, now = this.#clock.now()): boolean {
    return (this.#suspects.get(name) ?? 0) > now
  }

  #suspect(name: string, until: number): void {
    this.#suspects.delete(name)
    const [oldest] = this.#suspects.keys()
    if (oldest !== undefined && this.#suspects.size >= maxSuspects) this.#suspects.delete(oldest)
    this.#suspects.set(name, until)
  }
}
