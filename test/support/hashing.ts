import { setImmediate as turn } from 'node:timers/promises'
import { type HashingThreads, openHashingThreads } from '../../src/auth/sign-in/hashing.ts'
import type { Hashed, HashingTask } from '../../src/auth/sign-in/hashing-worker.ts'

/** Maximum number of remembered results. */
const maxRemembered = 10_000

const threads = openHashingThreads(2)
const results = new Map<string, Hashed>()

/**
 * Threads for all apps of a process, because starting some for each app takes a third of its time. They check the same
 * password against the same hashes once: the result cannot change, and each check takes about 20 ms of processor time.
 */
export const hashing: HashingThreads = {
  async run(task: HashingTask): Promise<Hashed> {
    if (task.checks === undefined) return threads.run(task)
    const key = JSON.stringify([task.password, task.checks])
    const known = results.get(key)
    if (known) {
      // A thread never answers in the same turn of the event loop.
      await turn()
      return known
    }
    const result = await threads.run(task)
    if (results.size < maxRemembered) results.set(key, result)
    return result
  },
  close: () => threads.close(),
}
