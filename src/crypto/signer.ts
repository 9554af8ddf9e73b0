import { constantTimeEqual, hmac } from './hash.ts'

/** What a signature check found: the value, and whether it was signed with one of the keys. */
interface Unsigned {
  valid: boolean
  renew: boolean
  value: string | null
}

/** Signs short texts as `<text>.<HMAC-SHA256 in base64url>`: the first key signs, all verify. */
export class Signer {
  readonly #keys: readonly Buffer[]

  constructor(keys: readonly Buffer[]) {
    this.#keys = keys
  }

  sign = (value: string): string => {
    const key = this.#keys[0]
    if (!key) throw new Error('A signer needs a key.')
    return `${value}.${hmac(key, value)}`
  }

  unsign = (signed: string): Unsigned => {
    const dot = signed.lastIndexOf('.')
    const value = signed.slice(0, dot)
    const signature = signed.slice(dot + 1)
    const index = dot > 0 ? this.#keys.findIndex((key) => constantTimeEqual(hmac(key, value), signature)) : -1
    return index < 0 ? { valid: false, renew: false, value: null } : { valid: true, renew: index > 0, value }
  }
}
