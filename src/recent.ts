/** Map that keeps the `max` keys that were added last. */
export class RecentMap<Value> {
  readonly #values = new Map<string, Value>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  get(key: string): Value | undefined {
    return this.#values.get(key)
  }

  /** Adds a key, or replaces its value, as the last one. */
  add(key: string, value: Value): void {
    this.#values.delete(key)
    if (this.#values.size >= this.#max) this.#values.delete(this.#values.keys().next().value ?? '')
    this.#values.set(key, value)
  }
}

/**
 * Caches the results of a pure function for the last `max` keys. Each request of a session needs the same few hashes.
 */
export function recent<Result>(max: number, compute: (key: string) => Result): (key: string) => Result {
  const results = new RecentMap<Result>(max)
  return (key) => {
    const known = results.get(key)
    if (known !== undefined) return known
    const result = compute(key)
    results.add(key, result)
    return result
  }
}
