import { createHmac, hash } from 'node:crypto'

/** Block size of SHA-256 in bytes. */
const block = 64

/** Maximum text length, in bytes, that is signed without allocating a buffer. */
const maxBuffered = 192

/**
 * HMAC-SHA256 key (RFC 2104). Every session response computes two HMACs, and Node's Hmac objects cost more to create
 * than to compute. For short texts, two one-shot hashes over the padded key are faster.
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

  /** Returns the HMAC-SHA256 of the UTF-8 text as 43 base64url characters. */
  sign(text: string): string {
    const length = Buffer.byteLength(text)
    if (length > maxBuffered) return createHmac('sha256', this.#key).update(text).digest('base64url')
    this.#inner.write(text, block)
    hash('sha256', this.#inner.subarray(0, block + length), 'buffer').copy(this.#outer, block)
    return hash('sha256', this.#outer, 'base64url')
  }
}
