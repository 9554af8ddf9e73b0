import { hashPassword, verifyPassword } from '../crypto/password.ts'

/** Tasks of the hashing threads. */
export type HashingTask =
  | { password: string; checks: readonly [string, ...string[]] }
  | { password: string; checks?: never }

/** The hash, or whether the password matches the first hash; and the duration in milliseconds. */
export interface Hashed {
  answer: string | boolean
  took: number
}

export default ({ password, checks }: HashingTask): Hashed => {
  const begin = performance.now()
  const answer = checks === undefined ? hashPassword(password) : matchesFirst(checks, password)
  return { answer, took: performance.now() - begin }
}

const matchesFirst = (checks: readonly string[], password: string): boolean =>
  checks.map((stored) => verifyPassword(stored, password))[0] === true
