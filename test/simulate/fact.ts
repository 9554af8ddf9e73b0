/** A value that requests change: what svc acknowledged, and whether it is certain. */
export class Fact<Value> {
  #value: Value
  #changes = 0
  #pending = 0
  #isKnown = true

  constructor(value: Value) {
    this.#value = value
  }

  /** Notes that a request begins which sets the value. Call the result with the outcome; null if svc did not answer. */
  setting(next: Value): (isMade: boolean | null) => void {
    const wasAlone = this.#pending === 0
    this.#changes++
    this.#pending++
    const isUnchanged = this.#watch()
    return (isMade) => {
      // After two changes at once, either of them may be the last one.
      if (isMade !== false) this.#isKnown = isMade !== null && wasAlone && isUnchanged()
      if (isMade) this.#value = next
      this.#changes++
      this.#pending--
    }
  }

  /** Notes that a request begins which depends on the value. The result returns it if nothing changed it meanwhile. */
  reading(): () => Value | null {
    const isUnchanged = this.#watch()
    return () => (isUnchanged() && this.#pending === 0 && this.#isKnown ? this.#value : null)
  }

  #watch(): () => boolean {
    const changes = this.#changes
    return () => this.#changes === changes
  }
}
