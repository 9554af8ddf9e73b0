import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'

const algorithm = 'aes-256-gcm'
const nonceLength = 12
const tagLength = 16

/** AES-256-GCM with a random nonce per text. The first key encrypts; all keys decrypt. */
export class Cipher {
  /** Key objects instead of buffers: for a buffer, Node throws and catches two errors, which double the time of a call. */
  readonly #keys: readonly KeyObject[]

  /** At least one key, 32 bytes each. */
  constructor(keys: readonly Buffer[]) {
    this.#keys = keys.map((key) => createSecretKey(key))
  }

  /** Returns base64url of nonce, tag and ciphertext. Decryption requires the same `context`. */
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

  /** Returns the text, or null if no key or context matches or the ciphertext was modified. */
  decrypt(encrypted: string, context: string): string | null {
    return this.decryptBytes(encrypted, context)?.toString() ?? null
  }

  /** Returns the bytes, or null like `decrypt`. */
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
        // Encrypted with another key.
      }
    }
    return null
  }
}
