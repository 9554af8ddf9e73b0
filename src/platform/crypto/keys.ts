import { hkdfSync } from 'node:crypto'
import { Cipher } from './cipher.ts'
import { MacKey } from './mac.ts'

/** Purpose of a derived key. Each purpose has its own key. */
export type KeyPurpose =
  | 'unlock-sign-in'
  | 'session-cookie'
  | '__Host-session-cookie'
  | '__Secure-session-cookie'
  | 'xsrf'
  | 'remember'
  | 'known-browser'
  | 'verify-email'
  | 'undo-email'
  | 'refresh-successor'
  | 'user-code'
  | 'confirmation-code'
  | 'login-code'
  | 'idempotency'
  | 'session-binding'

/** Secrets for libraries that derive their own keys. */
type SecretPurpose = 'oauth-cookies' | 'dpop-nonce' | 'oauth-records-name' | 'audit-head'

/**
 * Purposes of ciphers. Features declare their own, as decorators are declared in Fastify.
 * @public
 */
export interface CipherPurposes {
  'two-factor': true
  outbox: true
  'oauth-keys': true
  'oauth-records': true
  'oauth-carried': true
  config: true
}

/** Purpose of a cipher. Each purpose has its own key. */
type CipherPurpose = keyof CipherPurposes

/** Derives 32 bytes from a secret and a purpose with HKDF-SHA256 (RFC 5869). */
const derive = (secret: string, purpose: KeyPurpose | CipherPurpose | SecretPurpose): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', `svc:${purpose}`, 32))

/** Derives one key per secret: the first signs, all verify. */
export const deriveKeys = (secrets: readonly string[], purpose: KeyPurpose): readonly MacKey[] =>
  secrets.map((secret) => new MacKey(derive(secret, purpose)))

/** Creates the cipher of a purpose: the first secret encrypts, all decrypt. */
export const deriveCipher = (secrets: readonly string[], purpose: CipherPurpose): Cipher =>
  new Cipher(secrets.map((secret) => derive(secret, purpose)))

/** Derives 32 bytes for a library that needs a secret. */
export const deriveSecret = (secret: string, purpose: SecretPurpose): Buffer => derive(secret, purpose)
