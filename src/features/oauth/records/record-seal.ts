import type { AdapterPayload } from 'oidc-provider'
import type { Cipher } from '../../../platform/crypto/cipher.ts'
import { deriveCipher, deriveKeys, deriveSecret } from '../../../platform/crypto/keys.ts'
import type { MacKey } from '../../../platform/crypto/mac.ts'

/** A record's id and its payload as the database or Redis stores it. */
export interface SealedRecord {
  id: string
  payload: string
}

/**
 * Encrypts the payloads of OAuth records. The library puts live credentials into them: refresh tokens, codes, request
 * URIs, session ids and form secrets.
 */
export class RecordSeal {
  /** Starts every payload that the first secret encrypted. Hex, so that it is also a LIKE pattern without wildcards. */
  readonly prefix: string
  readonly #cipher: Cipher
  readonly #codeKeys: readonly MacKey[]

  /** `app.secret`: the first secret encrypts, all decrypt. */
  constructor(secrets: readonly string[]) {
    this.#cipher = deriveCipher(secrets, 'oauth-records')
    this.#codeKeys = deriveKeys(secrets, 'user-code')
    this.prefix = `${deriveSecret(secrets[0] ?? '', 'oauth-records-name')
      .toString('hex')
      .slice(0, 8)}.`
  }

  /** The payload as its record stores it; it can only be opened under the same id. */
  seal(id: string, payload: object): string {
    return this.prefix + this.#cipher.encrypt(JSON.stringify(payload), id)
  }

  /** The payload of a record, which can be empty; null if no secret decrypts it. */
  open<Payload = AdapterPayload>({ id, payload }: SealedRecord): Payload | null {
    const text = payload === '{}' ? payload : this.#cipher.decrypt(payload.slice(this.prefix.length), id)
    return text === null ? null : JSON.parse(text)
  }

  /**
   * Hashes under which a user code may be stored; new records use the first one. The hashes are keyed, because an
   * attacker could find the eight letters behind a plain hash by trying all of them.
   */
  codeHashes(code: string): string[] {
    return this.#codeKeys.map((key) => key.sign(code))
  }
}
