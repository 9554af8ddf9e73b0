import { sha256Hex } from '../crypto/hash.ts'

/** Fingerprint of a password hash that a session stores: detects a change, reveals nothing. */
export const passwordFingerprint = (passwordHash: string | null): string =>
  sha256Hex(`svc:password-mark:${passwordHash ?? ''}`)

/** Tests whether the password is unchanged since a session or remember token began. */
export const passwordFingerprintMatches = (mark: string | null, passwordHash: string | null): boolean =>
  mark === passwordFingerprint(passwordHash)
