import { AsyncLocalStorage } from 'node:async_hooks'
import pg from 'pg'
import type { Test } from 'tap'
import { later } from '../../bench/support/database-cost.ts'

/** A statement that this process sent to PostgreSQL. */
export interface Sent {
  text: string
  values: unknown[]
}

/**
 * Records the statements that requests send to PostgreSQL, by default those before the response. Each one is a round trip.
 */
export function recordRoundTrips(
  t: Test,
  isCounted = (text: string) => !later.test(text),
): { during(work: () => Promise<unknown>): Promise<Sent[]> } {
  const { prototype } = pg.Client
  const { query } = prototype
  // Statements of timers, such as the reading of the signing keys, have no list.
  const lists = new AsyncLocalStorage<Sent[]>()
  const recording = function (this: pg.Client, ...args: [string | Sent, ...unknown[]]) {
    const [first] = args
    const { text, values = [] } = typeof first === 'string' ? { text: first } : first
    if (isCounted(text)) lists.getStore()?.push({ text, values })
    return Reflect.apply(query, this, args)
  }
  // Sound: it passes on the same arguments and result.
  prototype.query = recording as typeof query
  t.teardown(() => {
    prototype.query = query
  })
  return {
    async during(work) {
      const sent: Sent[] = []
      await lists.run(sent, work)
      return [...sent]
    },
  }
}
