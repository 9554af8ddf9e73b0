import { constantTimeEqual } from './hash.ts'
import type { MacKey } from './mac.ts'

/** What a signature check found: the value, and whether it was signed with one of the keys. */
interface Unsigned {
  valid: boolean
  renew: boolean
  value: string | null
}

/** As many as requests can be under way between the two; more are signed anew. */
const maxVerified = 1_000

/** Signs short texts as `<text>.<HMAC-SHA256 in base64url>`: the first key signs, all verify. */
export class Signer {
  readonly #keys: readonly MacKey[]
  /** Verified and not yet signed again: reading a session does both, and the second has the same result. */
  readonly #verified = new Map<string, string>()

  constructor(keys: readonly MacKey[]) {
    this.#keys = keys
  }

  sign = (value: string): string => {
    const known = this.#verified.get(value)
    if (known !== undefined) {
      this.#verified.delete(value)
      return known
    }
    const key = this.#keys[0]
    if (!key) throw new Error('A signer needs a key.')
    return `${value}.${key.sign(value)}`
  }

  unsign = (signed: string): Unsigned => {
    const dot = signed.lastIndexOf('.')
    const value = signed.slice(0, dot)
    const signature = signed.slice(dot + 1)
    const index = dot > 0 ? this.#keys.findIndex((key) => constantTimeEqual(key.sign(value), signature)) : -1
    if (index === 0 && this.#verified.size < maxVerified) this.#verified.set(value, signed)
    return index < 0 ? { valid: false, renew: false, value: null } : { valid: true, renew: index > 0, value }
  }
}
