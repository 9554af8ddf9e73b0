import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import type { Head } from '../../identity/event-heads.ts'
import { deriveSecret } from '../../platform/crypto/keys.ts'

/** What makes an Ed25519 private key of its 32 bytes (RFC 8410 section 7). */
const prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

type Signed = Pick<Head, 'seal' | 'hash' | 'sealed_at'>

const signedBytes = ({ seal, hash, sealed_at }: Signed): Buffer =>
  Buffer.from(`svc audit head\n${seal}\n${hash}\n${sealed_at}`)

/** Keys of the heads, derived from `app.secret`: the first secret signs, all verify. */
export class HeadKeys {
  readonly #keys: readonly { privateKey: KeyObject; x: string }[]

  constructor(secrets: readonly string[]) {
    this.#keys = secrets.map((secret) => {
      const der = Buffer.concat([prefix, deriveSecret(secret, 'audit-head')])
      const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
      return { privateKey, x: createPublicKey(privateKey).export({ format: 'jwk' }).x ?? '' }
    })
  }

  /** Signs a head. */
  sign(facts: Signed): Head {
    const [first] = this.#keys
    if (!first) throw new Error('A head needs a key.')
    const signature = sign(null, signedBytes(facts), first.privateKey).toString('base64url')
    return { ...facts, signature, key: first.x }
  }

  /** The public keys, base64url; the first one signs. */
  get all(): readonly string[] {
    return this.#keys.map(({ x }) => x)
  }
}

/** Tests whether the key of a head signed it. The caller tests whether to trust the key. */
export function isSigned({ signature, key, ...facts }: Head): boolean {
  try {
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: key }, format: 'jwk' })
    return verify(null, signedBytes(facts), publicKey, Buffer.from(signature, 'base64url'))
  } catch {
    // Not a key.
    return false
  }
}
