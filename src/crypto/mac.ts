import { createHmac, hash } from 'node:crypto'

/** SHA-256's block in bytes. */
const block = 64

/** The longest text, in bytes, that is signed without a buffer of its own. */
const maxBuffered = 192

/**
 * A key for HMAC-SHA256 (RFC 2104).
 * Every answer to a session takes two of these, and Node's Hmac objects cost more to make and to collect than to
 * compute; so short texts go through two one-shot hashes over the padded key, which is all that an HMAC is.
 */
export class MacKey {
  readonly #key: Buffer
  readonly #inner = Buffer.alloc(block + maxBuffered)
  readonly #outer = Buffer.alloc(block + 32)

  /** `key` has at most 64 bytes. */
  constructor(key: Buffer) {
    if (key.length > block) throw new Error('The key is longer than a block.')
    this.#key = key
    for (let i = 0; i < block; i++) {
      this.#inner[i] = (key[i] ?? 0) ^ 0x36
      this.#outer[i] = (key[i] ?? 0) ^ 0x5c
    }
  }

  /** HMAC-SHA256 of the text's UTF-8 as 43 characters of base64url. */
  sign(text: string): string {
    const length = Buffer.byteLength(text)
    if (length > maxBuffered) return createHmac('sha256', this.#key).update(text).digest('base64url')
    this.#inner.write(text, block)
    hash('sha256', this.#inner.subarray(0, block + length), 'buffer').copy(this.#outer, block)
    return hash('sha256', this.#outer, 'base64url')
  }
}
