import { hkdfSync } from 'node:crypto'
import { Cipher } from './cipher.ts'
import { MacKey } from './mac.ts'

/** What a derived key is for: no two uses share one. */
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

/** Secrets for others' code, which makes its own keys of them. */
type SecretPurpose = 'oauth-cookies' | 'dpop-nonce' | 'oauth-records-name'

/** What is encrypted: no two kinds share a key. */
export type CipherPurpose =
  | 'two-factor'
  | 'outbox'
  | 'oauth-keys'
  | 'oauth-records'
  | 'oauth-carried'
  | 'social-flow'
  | 'social-tokens'
  | 'config'

/** The 32 bytes that a secret gives for a purpose, by HKDF-SHA256 (RFC 5869). */
const derive = (secret: string, purpose: KeyPurpose | CipherPurpose | SecretPurpose): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', `svc:${purpose}`, 32))

/** One key for each secret: the first signs, all verify. */
export const deriveKeys = (secrets: readonly string[], purpose: KeyPurpose): readonly MacKey[] =>
  secrets.map((secret) => new MacKey(derive(secret, purpose)))

/** The cipher of a purpose: the first secret encrypts, all decrypt. */
export const deriveCipher = (secrets: readonly string[], purpose: CipherPurpose): Cipher =>
  new Cipher(secrets.map((secret) => derive(secret, purpose)))

/** 32 bytes for a library that wants a secret. */
export const deriveSecret = (secret: string, purpose: SecretPurpose): Buffer => derive(secret, purpose)
