import type { FastifyRequest } from 'fastify'
import type { CurrentConfig } from '../config/current.ts'
import { AddressRanges } from '../http/addresses.ts'
import { clientAddress, limitedAddress } from '../http/client-address.ts'
import type { NamedHit } from '../limits/counters.ts'

/** Limits failed sign-ins from one address to all accounts, against password spraying. */
export class AddressLimit {
  readonly #config: CurrentConfig
  #exempt: { from: readonly string[]; ranges: AddressRanges } | null = null

  constructor(config: CurrentConfig) {
    this.#config = config
  }

  /** The counter of the request's address; null if it is not limited. A sign-in that succeeds takes its hit back. */
  counterOf(request: FastifyRequest): NamedHit | null {
    const rate = this.#config.current().rate_limits.login_address
    // Behind an untrusted proxy all users share its address, so one user could lock out all others.
    if (rate === null || request.isForwardedUntrusted || this.#isExempt(clientAddress(request))) return null
    return { name: `login-address:${limitedAddress(request.ip)}`, rule: { ...rate, block: 'window' } }
  }

  #isExempt(address: string): boolean {
    const from = this.#config.current().rate_limits.exempt
    if (this.#exempt?.from !== from) this.#exempt = { from, ranges: new AddressRanges(from) }
    return this.#exempt.ranges.has(address)
  }
}
