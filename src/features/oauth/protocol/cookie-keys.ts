import { createHmac } from 'node:crypto'
import { constantTimeEqual } from '../../../platform/crypto/hash.ts'

/** HMAC-SHA256 in base64url. */
const signatureOf = (text: string, key: string): string => createHmac('sha256', key).update(text).digest('base64url')

/**
 * Signs the library's cookies: the first key signs, all verify. Replaces Keygrip, whose comparison computes two more HMACs
 * with a random key.
 */
export class CookieKeys {
  readonly #keys: readonly string[]
  readonly #first: string

  constructor(keys: readonly string[]) {
    const [first] = keys
    if (!first) throw new Error('The cookies of the OAuth server need a key.')
    this.#keys = keys
    this.#first = first
  }

  sign(text: string): string {
    return signatureOf(text, this.#first)
  }

  /** Returns the position of the key that signed the text, or -1. */
  index(text: string, signature: string): number {
    return this.#keys.findIndex((key) => constantTimeEqual(signatureOf(text, key), signature))
  }

  verify(text: string, signature: string): boolean {
    return this.index(text, signature) >= 0
  }
}
