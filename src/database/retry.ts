import { setTimeout as sleep } from 'node:timers/promises'
import { isConflict } from './unavailable.ts'

const ATTEMPTS = 5

/** Repeats work that the database refused because of other work at the same time; `note` gets the error of each repetition. */
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
    // Those that clashed must not meet again: each waits a random while, longer each time.
    await sleep(Math.random() * 20 * 2 ** attempt)
  }
}
