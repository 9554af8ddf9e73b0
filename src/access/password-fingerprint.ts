import { sha256Hex } from '../crypto/hash.ts'

/** What a session keeps of the password hash it began with: enough to see a change, nothing to attack. */
export const passwordFingerprint = (passwordHash: string | null): string =>
  sha256Hex(`svc:password-mark:${passwordHash ?? ''}`)

/** Whether the user's password is still the one a session or remember token began with. */
export const passwordFingerprintMatches = (mark: string | null, passwordHash: string | null): boolean =>
  mark === passwordFingerprint(passwordHash)
