/** After `maxFailures` calls in a row without an answer, svc does not call the hook for `pause` milliseconds. */
const maxFailures = 5
const pause = 5_000

/** Pauses the calls of a hook that does not answer, so that users do not wait for each timeout. Then one call at a time tries it. */
export class Breaker {
  #failures = 0
  /** Monotonic milliseconds. */
  #openUntil = 0
  #isTrying = false

  /** Tests whether to call now. The caller reports the result of each call that it makes. */
  admits(): boolean {
    if (this.#failures < maxFailures) return true
    if (this.#isTrying || performance.now() < this.#openUntil) return false
    this.#isTrying = true
    return true
  }

  succeeded(): void {
    this.#failures = 0
    this.#isTrying = false
  }

  failed(): void {
    this.#failures++
    this.#isTrying = false
    if (this.#failures >= maxFailures) this.#openUntil = performance.now() + pause
  }
}
