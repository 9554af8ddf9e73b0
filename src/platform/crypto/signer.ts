import { cacheSize, RecentMap } from '../cache.ts'
import { constantTimeEqual } from './hash.ts'
import type { MacKey } from './mac.ts'

/** The result of a signature check. `renew`: the signature is valid, but from an older key. */
interface Unsigned {
  valid: boolean
  renew: boolean
  value: string | null
}

/** A text and the text with the signature of the first key. */
interface Signed {
  value: string
  signed: string
}

/** Copies a text, because a part of a longer text would keep all of it in memory, such as the whole header of a cookie. */
const copyOf = (text: string): string => Buffer.from(text).toString()

/** Signs short texts as `<text>.<HMAC-SHA256 in base64url>`: the first key signs, all verify. */
export class Signer {
  readonly #keys: readonly MacKey[]
  /** Cache of what the first key signs. It never stores forged texts, so that they cannot evict valid ones. */
  readonly #known = new RecentMap<Signed>(cacheSize.hashes)

  constructor(keys: readonly MacKey[]) {
    this.#keys = keys
  }

  sign = (value: string): string => {
    const known = this.#known.get(value)
    if (known) return known.signed
    const [first] = this.#keys
    if (!first) throw new Error('A signer needs a key.')
    return this.#keep(value, first.sign(value)).signed
  }

  /** Returns the cached copy of the value, so that other caches with this key share its memory. */
  unsign = (text: string): Unsigned => {
    const dot = text.lastIndexOf('.')
    const value = text.slice(0, dot)
    const known = this.#known.get(value)
    if (known?.signed === text) return { valid: true, renew: false, value: known.value }
    const signature = text.slice(dot + 1)
    const index = dot > 0 ? this.#keys.findIndex((key) => constantTimeEqual(key.sign(value), signature)) : -1
    if (index < 0) return { valid: false, renew: false, value: null }
    return { valid: true, renew: index > 0, value: index === 0 ? this.#keep(value, signature).value : value }
  }

  #keep(text: string, signature: string): Signed {
    const value = copyOf(text)
    const known = { value, signed: copyOf(`${value}.${signature}`) }
    this.#known.add(value, known)
    return known
  }
}
