import type { Cipher } from '../../../platform/crypto/cipher.ts'
import { deriveCipher } from '../../../platform/crypto/keys.ts'
import type { PrivateJwk } from './jwk.ts'
import type { StoredKey } from './store.ts'

/** Encrypts signing keys for the database, each for its own row. */
export class KeySeal {
  readonly #all: Cipher
  readonly #first: Cipher

  /** `app.secret`: the first encrypts, all decrypt. */
  constructor(secrets: readonly string[]) {
    this.#all = deriveCipher(secrets, 'oauth-keys')
    this.#first = deriveCipher(secrets.slice(0, 1), 'oauth-keys')
  }

  /** Returns the encrypted key for its row. */
  seal(key: PrivateJwk): string {
    return this.#first.encrypt(JSON.stringify(key), key.kid)
  }

  /** Decrypts the key of a row; null if no secret can. */
  open({ kid, sealed }: Pick<StoredKey, 'kid' | 'sealed'>): PrivateJwk | null {
    const text = this.#all.decrypt(sealed, kid)
    return text === null ? null : JSON.parse(text)
  }

  /** Tests whether the first secret decrypts the key, so that older secrets are not needed for it. */
  isCurrent({ kid, sealed }: StoredKey): boolean {
    return this.#first.decrypt(sealed, kid) !== null
  }
}
