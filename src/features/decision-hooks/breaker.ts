/** Calls without an answer in a row after which a hook is not called for a while, and how long, in milliseconds. */
const maxFailures = 5
const pause = 5_000

/** Stops the calls of a hook that does not work, so that users do not wait for each timeout. Then one call at a time tries it. */
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
