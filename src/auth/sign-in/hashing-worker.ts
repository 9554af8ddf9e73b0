import { constants, getPriority, setPriority } from 'node:os'
import { isMainThread } from 'node:worker_threads'
import { hashPassword, verifyPassword } from '../../platform/crypto/password.ts'

/**
 * Scheduling priority of the threads, below token checks. If both need the same CPU, Linux gives the checks nine times as much
 * time. On two busy CPUs, the threads still check dozens of passwords per second.
 */
const niceness = 10

/** Lowers the priority of this thread. Only Linux has priorities of threads; other systems would slow down the process. */
function lowerPriority(): void {
  if (isMainThread || process.platform !== 'linux') return
  try {
    setPriority(Math.min(getPriority() + niceness, constants.priority.PRIORITY_LOW))
  } catch {
    // A sandbox may forbid it. The thread then hashes with the usual priority.
  }
}

lowerPriority()

/** Tasks of the hashing threads. */
export type HashingTask =
  | { password: string; checks: readonly [string, ...string[]] }
  | { password: string; checks?: never }

/** The hash, or whether the password matches the first hash; and the duration in milliseconds. */
export interface Hashed {
  answer: string | boolean
  took: number
}

export default async ({ password, checks }: HashingTask): Promise<Hashed> => {
  const begin = performance.now()
  const answer = checks === undefined ? hashPassword(password) : await matchesFirst(checks, password)
  return { answer, took: performance.now() - begin }
}

async function matchesFirst(checks: readonly string[], password: string): Promise<boolean> {
  const [matches] = await Promise.all(checks.map((stored) => verifyPassword(stored, password)))
  return matches === true
}
