import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Sample } from './operations.ts'
import { password } from './requests.ts'

/** The number of svc's hashing threads: all cores but one. */
const threads = Math.max(1, availableParallelism() - 1)

/** Password verifications per second of the hashing library alone, on as many threads as svc uses. */
export async function argon2Alone(seconds: number): Promise<Sample> {
  const script = new URL('argon2-thread.ts', import.meta.url)
  const rates = await Promise.all(
    Array.from({ length: threads }, async () => {
      const worker = new Worker(script, { workerData: { seconds, password } })
      const [rate]: number[] = await once(worker, 'message')
      await worker.terminate()
      return rate ?? 0
    }),
  )
  const rate = rates.reduce((sum, each) => sum + each, 0)
  const each = (1000 * threads) / rate
  return { rate, p50: each, p99: each, max: each, generator: 0, processor: 1e6 / (rate / threads), memory: 0 }
}
