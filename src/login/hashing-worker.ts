import { hashPassword, verifyPassword } from '../crypto/password.ts'

/** What the hashing pool's threads do. */
export type HashingTask =
  | { password: string; checks: readonly [string, ...string[]] }
  | { password: string; checks?: never }

/** The hash of a password, or whether it fits the first of the checked hashes; and how many milliseconds that took. */
export interface Hashed {
  answer: string | boolean
  took: number
}

export default ({ password, checks }: HashingTask): Hashed => {
  const begin = performance.now()
  const answer = checks === undefined ? hashPassword(password) : fitsFirst(checks, password)
  return { answer, took: performance.now() - begin }
}

const fitsFirst = (checks: readonly string[], password: string): boolean =>
  checks.map((stored) => verifyPassword(stored, password))[0] === true
