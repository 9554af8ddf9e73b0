import { hkdfSync } from 'node:crypto'

/** What a derived key is for: no two uses share one. */
export type KeyPurpose = 'session-cookie' | 'xsrf' | 'remember' | 'known-browser'

/** One 32-byte key for each secret by HKDF-SHA256 (RFC 5869): the first signs, all verify. */
export const deriveKeys = (secrets: readonly string[], purpose: KeyPurpose): readonly Buffer[] =>
  secrets.map((secret) => Buffer.from(hkdfSync('sha256', secret, '', `svc:${purpose}`, 32)))
