import { unavailable } from '../../../platform/errors.ts'

interface Waiter<Row> {
  resolve(row: Row | null): void
  reject(error: unknown): void
}

/** Limits of the number of keys in one query. More queries of fewer keys would cost more than they gain. */
const minShare = 16
const maxBatch = 500

/** Combines the lookups or writes of one event loop turn into one query. Nothing is cached. */
export class Batch<Key, Row> {
  readonly #query: (keys: Key[]) => Promise<Row[]> | Row[]
  readonly #keyOf: (row: Row) => Key
  readonly #concurrent: number
  #waiting = new Map<Key, Waiter<Row>[]>()
  #running = 0
  #runningKeys = 0
  #scheduled = false

  /**
   * `query` returns the existing rows in any order; `keyOf` returns the key of a row. Each of the `concurrent` queries takes
   * its share of the keys, so that this process handles the rows of one while the database runs another. Without shares, one
   * query would take almost all keys. Use 1 for a synchronous `query`.
   */
  constructor(query: (keys: Key[]) => Promise<Row[]> | Row[], keyOf: (row: Row) => Key, concurrent = 2) {
    this.#query = query
    this.#keyOf = keyOf
    this.#concurrent = concurrent
  }

  /** Returns the current row of this key, or null. */
  find(key: Key): Promise<Row | null> {
    return new Promise((resolve, reject) => {
      const waiters = this.#waiting.get(key)
      if (waiters) waiters.push({ resolve, reject })
      else this.#waiting.set(key, [{ resolve, reject }])
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#scheduled || this.#running >= this.#concurrent) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    const batch = this.#take()
    if (batch.size === 0) return
    const { size } = batch
    this.#running++
    this.#runningKeys += size
    if (this.#waiting.size > 0) this.#schedule()
    try {
      for (const row of await this.#query([...batch.keys()])) {
        const key = this.#keyOf(row)
        for (const waiter of batch.get(key) ?? []) waiter.resolve(row)
        batch.delete(key)
      }
      for (const waiters of batch.values()) for (const waiter of waiters) waiter.resolve(null)
    } catch (error) {
      // An unavailable database says nothing about a credential: 503, never 401.
      const refusal = unavailable(error)
      for (const waiters of batch.values()) for (const waiter of waiters) waiter.reject(refusal)
    } finally {
      this.#running--
      this.#runningKeys -= size
      if (this.#waiting.size > 0) this.#schedule()
    }
  }

  #take(): Map<Key, Waiter<Row>[]> {
    const all = this.#waiting
    const share = Math.ceil((all.size + this.#runningKeys) / this.#concurrent)
    const limit = Math.min(Math.max(share, minShare), maxBatch)
    if (all.size <= limit) {
      this.#waiting = new Map()
      return all
    }
    const taken = new Map([...all].slice(0, limit))
    for (const key of taken.keys()) all.delete(key)
    return taken
  }
}
