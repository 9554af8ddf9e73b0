import { hashPassword, verifyPassword } from '../crypto/password.ts'

/** What the hashing pool's threads do. */
export type HashingTask = { password: string; stored: string } | { password: string; stored?: never }

/** The hash of a password, or, against a stored one, whether it fits. */
export default ({ password, stored }: HashingTask): string | boolean =>
  stored === undefined ? hashPassword(password) : verifyPassword(stored, password)
