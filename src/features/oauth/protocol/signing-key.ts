import { createPublicKey, type KeyObject } from 'node:crypto'
import { ExternalSigningKey } from 'oidc-provider'
import { type PrivateJwk, publicPart } from '../keys/jwk.ts'
import { signBytes } from '../keys/sign.ts'

/** A key of svc for the library, which gets only its public part. Signatures of the library take three times as long. */
export class SigningKey extends ExternalSigningKey {
  readonly #jwk: PrivateJwk
  #published: KeyObject | undefined

  constructor(jwk: PrivateJwk) {
    super()
    this.#jwk = jwk
  }

  override get kid(): string {
    return this.#jwk.kid
  }

  override get alg(): string {
    return this.#jwk.alg
  }

  override keyObject(): KeyObject {
    this.#published ??= createPublicKey({ key: publicPart(this.#jwk), format: 'jwk' })
    return this.#published
  }

  override async sign(data: Uint8Array): Promise<Uint8Array> {
    return signBytes(this.#jwk, data)
  }
}
