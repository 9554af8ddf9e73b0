import { hashPassword, verifyPassword } from '../crypto/password.ts'

/** What the hashing pool's threads do. */
export type HashingTask = { password: string; stored: string } | { password: string; stored?: never }

/** The hash of a password, or, against a stored one, whether it fits; and how many milliseconds that took. */
export interface Hashed {
  answer: string | boolean
  took: number
}

export default ({ password, stored }: HashingTask): Hashed => {
  const begin = performance.now()
  const answer = stored === undefined ? hashPassword(password) : verifyPassword(stored, password)
  return { answer, took: performance.now() - begin }
}
