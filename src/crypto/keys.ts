import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'

/** What a derived key is for: no two uses share one. */
export type KeyPurpose = 'session-cookie' | 'xsrf' | 'remember' | 'known-browser'

/** One 32-byte key for each secret by HKDF-SHA256 (RFC 5869): the first signs, all verify. Key objects: an HMAC with raw bytes costs six times as much. */
export const deriveKeys = (secrets: readonly string[], purpose: KeyPurpose): readonly KeyObject[] =>
  secrets.map((secret) => createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', `svc:${purpose}`, 32))))
