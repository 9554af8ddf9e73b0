import type { FastifyRequest } from 'fastify'
import type { CurrentConfig } from '../config/current.ts'
import { AddressRanges } from '../http/addresses.ts'
import { clientAddress, limitedAddress } from '../http/client-address.ts'
import type { Counters } from '../limits/counters.ts'

/** A reserved attempt, or the time (Unix ms) until which the address is blocked. */
type Held = { allowed: true; release(): Promise<void> } | { allowed: false; until: number; max: number }

/** Limits failed sign-ins from one address to all accounts, against password spraying. */
export class AddressLimit {
  readonly #config: CurrentConfig
  readonly #counters: Counters
  #exempt: { from: readonly string[]; ranges: AddressRanges } | null = null

  constructor(config: CurrentConfig, counters: Counters) {
    this.#config = config
    this.#counters = counters
  }

  /** Counts an attempt as failed until it is released; null if the address is not limited. */
  async reserve(request: FastifyRequest, now: number): Promise<Held | null> {
    const rate = this.#config.current().rate_limits.login_address
    // Behind an untrusted proxy all users share its address, so one user could lock out all others.
    if (rate === null || request.isForwardedUntrusted || this.#isExempt(clientAddress(request))) return null
    const address = limitedAddress(request.ip)
    const name = `login-address:${address}`
    const hit = await this.#counters.hit(name, { ...rate, block: 'window' }, now)
    if (!hit.allowed) return { allowed: false, until: hit.until, max: rate.max }
    return { allowed: true, release: () => this.#counters.undo(name) }
  }

  #isExempt(address: string): boolean {
    const from = this.#config.current().rate_limits.exempt
    if (this.#exempt?.from !== from) this.#exempt = { from, ranges: new AddressRanges(from) }
    return this.#exempt.ranges.has(address)
  }
}
