import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const algorithm = 'aes-256-gcm'
const nonceLength = 12
const tagLength = 16

/** Encrypts texts with AES-256-GCM under a fresh nonce each: the first key encrypts, all decrypt. */
export class Cipher {
  readonly #keys: readonly Buffer[]

  /** Keys of 32 bytes each, at least one. */
  constructor(keys: readonly Buffer[]) {
    this.#keys = keys
  }

  /** base64url of nonce, tag and ciphertext; `context` names the place it is for, and must be the same to decrypt. */
  encrypt(text: string, context: string): string {
    return this.encryptBytes(Buffer.from(text), context)
  }

  /** Encrypts bytes as `encrypt` does text. */
  encryptBytes(plain: Uint8Array, context: string): string {
    const key = this.#keys[0]
    if (!key) throw new Error('A cipher needs a key.')
    const nonce = randomBytes(nonceLength)
    const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(context))
    const body = Buffer.concat([cipher.update(plain), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')
  }

  /** The text; null when no key fits, the context is another, or a bit was changed. */
  decrypt(encrypted: string, context: string): string | null {
    return this.decryptBytes(encrypted, context)?.toString() ?? null
  }

  /** The bytes; null where `decrypt` returns null. */
  decryptBytes(encrypted: string, context: string): Buffer | null {
    const bytes = Buffer.from(encrypted, 'base64url')
    if (bytes.length < nonceLength + tagLength) return null
    for (const key of this.#keys) {
      try {
        const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceLength), { authTagLength: tagLength })
          .setAAD(Buffer.from(context))
          .setAuthTag(bytes.subarray(nonceLength, nonceLength + tagLength))
        return Buffer.concat([decipher.update(bytes.subarray(nonceLength + tagLength)), decipher.final()])
      } catch {
        // Not this key's.
      }
    }
    return null
  }
}
