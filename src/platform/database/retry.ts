import { setTimeout as sleep } from 'node:timers/promises'
import { isConflict } from './unavailable.ts'

const ATTEMPTS = 5

/** Retries work after a transaction conflict; `note` receives the error of each retry. */
export async function withRetries<T>(
  work: () => Promise<T>,
  note: (error: unknown) => void = () => undefined,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === ATTEMPTS || !isConflict(error)) throw error
      note(error)
    }
    // A random, growing delay keeps the same transactions from colliding again.
    await sleep(Math.random() * 20 * 2 ** attempt)
  }
}
