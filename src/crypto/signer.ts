import { RecentMap, recent } from '../recent.ts'
import { constantTimeEqual } from './hash.ts'
import type { MacKey } from './mac.ts'

/** The result of a signature check. `renew`: the signature is valid, but from an older key. */
interface Unsigned {
  valid: boolean
  renew: boolean
  value: string | null
}

const maxCached = 10_000

/** Signs short texts as `<text>.<HMAC-SHA256 in base64url>`: the first key signs, all verify. */
export class Signer {
  readonly #keys: readonly MacKey[]
  /** Cache of texts that the first key signed. It never stores forged texts, so that they cannot evict valid ones. */
  readonly #valid = new RecentMap<Unsigned>(maxCached)
  readonly sign: (value: string) => string

  constructor(keys: readonly MacKey[]) {
    const [first] = keys
    this.#keys = keys
    this.sign = recent(maxCached, (value) => {
      if (!first) throw new Error('A signer needs a key.')
      return `${value}.${first.sign(value)}`
    })
  }

  unsign = (signed: string): Unsigned => {
    const known = this.#valid.get(signed)
    if (known) return known
    const dot = signed.lastIndexOf('.')
    const value = signed.slice(0, dot)
    const signature = signed.slice(dot + 1)
    const index = dot > 0 ? this.#keys.findIndex((key) => constantTimeEqual(key.sign(value), signature)) : -1
    if (index < 0) return { valid: false, renew: false, value: null }
    const unsigned = { valid: true, renew: index > 0, value }
    if (index === 0) this.#valid.add(signed, unsigned)
    return unsigned
  }
}
