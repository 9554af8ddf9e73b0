import type { CurrentConfig } from '../../platform/config/current.ts'
import { AddressRanges } from '../../platform/http/addresses.ts'
import { canonicalAddress, limitedAddress } from '../../platform/http/client-address.ts'
import type { NamedHit } from '../../platform/limits/counters.ts'
import type { Visit } from '../access/visit.ts'

/** Limits failed sign-ins from one address to all accounts, against password spraying. */
export class AddressLimit {
  readonly #config: CurrentConfig
  #exempt: { from: readonly string[]; ranges: AddressRanges } | null = null

  constructor(config: CurrentConfig) {
    this.#config = config
  }

  /** The counter of the request's address; null if it is not limited. A sign-in that succeeds takes its hit back. */
  counterOf(visit: Visit): NamedHit | null {
    const rate = this.#config.current().rate_limits.login_address
    if (rate === null || this.#isExempt(canonicalAddress(visit.address) ?? visit.address)) return null
    return {
      name: `login-address:${limitedAddress(visit.address)}`,
      rule: { ...visit.budget(rate), block: 'window' },
    }
  }

  #isExempt(address: string): boolean {
    const from = this.#config.current().rate_limits.exempt
    if (this.#exempt?.from !== from) this.#exempt = { from, ranges: new AddressRanges(from) }
    return this.#exempt.ranges.has(address)
  }
}
