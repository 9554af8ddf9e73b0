import { unavailable } from '../../errors.ts'

interface Waiter<Row> {
  resolve(row: Row | null): void
  reject(error: unknown): void
}

/** How many queries of one kind may be under way: while they are, later lookups gather into a larger batch. */
const concurrent = 2

/** The most keys in one query. */
const maxBatch = 500

/** Gathers the lookups of one turn of the event loop into one query; nothing outlives its query. */
export class Batch<Key, Row> {
  readonly #query: (keys: Key[]) => Promise<Row[]> | Row[]
  readonly #keyOf: (row: Row) => Key
  #waiting = new Map<Key, Waiter<Row>[]>()
  #running = 0
  #scheduled = false

  /** `query` answers the rows that exist, in any order; `keyOf` is the key a row was asked by. */
  constructor(query: (keys: Key[]) => Promise<Row[]> | Row[], keyOf: (row: Row) => Key) {
    this.#query = query
    this.#keyOf = keyOf
  }

  /** The row of this key as it is in the database now, or null. */
  find(key: Key): Promise<Row | null> {
    return new Promise((resolve, reject) => {
      const waiters = this.#waiting.get(key)
      if (waiters) waiters.push({ resolve, reject })
      else this.#waiting.set(key, [{ resolve, reject }])
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#scheduled || this.#running >= concurrent) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    const batch = this.#take()
    if (batch.size === 0) return
    this.#running++
    try {
      for (const row of await this.#query([...batch.keys()])) {
        const key = this.#keyOf(row)
        for (const waiter of batch.get(key) ?? []) waiter.resolve(row)
        batch.delete(key)
      }
      for (const waiters of batch.values()) for (const waiter of waiters) waiter.resolve(null)
    } catch (error) {
      // A database that does not answer says nothing about a credential: 503, never 401.
      const refusal = unavailable(error)
      for (const waiters of batch.values()) for (const waiter of waiters) waiter.reject(refusal)
    } finally {
      this.#running--
      if (this.#waiting.size > 0) this.#schedule()
    }
  }

  #take(): Map<Key, Waiter<Row>[]> {
    const all = this.#waiting
    if (all.size <= maxBatch) {
      this.#waiting = new Map()
      return all
    }
    const taken = new Map([...all].slice(0, maxBatch))
    for (const key of taken.keys()) all.delete(key)
    return taken
  }
}
