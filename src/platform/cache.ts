/** Sizes of caches per process. Powers of two, because V8 rounds the table of a Map up to one. */
export const cacheSize = {
  /** For hashes of sessions. */
  hashes: 8_192,
  /** For tokens with their claims, about 2 KB each. */
  tokens: 4_096,
}

/**
 * Map that keeps the `size` keys that were added last, and at most twice as many. It drops the older half at once, because a
 * Map that deletes its first key each time has to skip all keys that it deleted before.
 */
export class RecentMap<Value> {
  #latest = new Map<string, Value>()
  #earlier: ReadonlyMap<string, Value> = new Map()
  readonly #size: number

  constructor(size: number) {
    this.#size = size
  }

  get(key: string): Value | undefined {
    const value = this.#latest.get(key)
    return value === undefined ? this.#earlier.get(key) : value
  }

  /** Adds a key or replaces its value. */
  add(key: string, value: Value): void {
    if (this.#latest.size >= this.#size) {
      this.#earlier = this.#latest
      this.#latest = new Map()
    }
    this.#latest.set(key, value)
  }
}

/**
 * Caches the results of a pure function for at least the last `size` keys. Each request of a session needs the same few hashes.
 */
export function recent<Result>(size: number, compute: (key: string) => Result): (key: string) => Result {
  const results = new RecentMap<Result>(size)
  return (key) => {
    const known = results.get(key)
    if (known !== undefined) return known
    const result = compute(key)
    results.add(key, result)
    return result
  }
}
