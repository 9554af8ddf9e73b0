import { sha256Hex } from '../../platform/crypto/hash.ts'

/** Returns the fingerprint of a password hash. Sessions store it to detect a change of the password. */
export const passwordFingerprint = (passwordHash: string | null): string =>
  sha256Hex(`svc:password-fingerprint:${passwordHash ?? ''}`)

/** Tests whether the password is unchanged since a session or remember token began. */
export const passwordFingerprintMatches = (fingerprint: string | null, passwordHash: string | null): boolean =>
  fingerprint === passwordFingerprint(passwordHash)
