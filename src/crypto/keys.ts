import { hkdfSync } from 'node:crypto'
import { MacKey } from './mac.ts'

/** What a derived key is for: no two uses share one. */
export type KeyPurpose = 'session-cookie' | 'xsrf' | 'remember' | 'known-browser'

/** One 32-byte key for each secret by HKDF-SHA256 (RFC 5869): the first signs, all verify. */
export const deriveKeys = (secrets: readonly string[], purpose: KeyPurpose): readonly MacKey[] =>
  secrets.map((secret) => new MacKey(Buffer.from(hkdfSync('sha256', secret, '', `svc:${purpose}`, 32))))
