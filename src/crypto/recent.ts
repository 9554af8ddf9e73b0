/**
 * Caches the results of a pure function for its last `max` different keys.
 * A session asks for the same few hashes with each of its requests.
 */
export function recent<Result>(max: number, compute: (key: string) => Result): (key: string) => Result {
  const results = new Map<string, Result>()
  return (key) => {
    const known = results.get(key)
    if (known !== undefined) return known
    const result = compute(key)
    if (results.size >= max) results.delete(results.keys().next().value ?? '')
    results.set(key, result)
    return result
  }
}
