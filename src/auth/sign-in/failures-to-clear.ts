import type { Sql } from '../../platform/database/sql.ts'
import { type Change, type Counters, takeBack } from '../../platform/limits/counters.ts'

/** The failures that a successful attempt clears: in a statement of their own, or as a part of the next statement. */
export class FailuresToClear {
  readonly #counters: Counters
  readonly #changes: readonly Change[]
  #isDone = false

  constructor(counters: Counters, changes: readonly Change[]) {
    this.#counters = counters
    this.#changes = changes
  }

  /** Clears them, unless another statement does. */
  async clear(): Promise<void> {
    if (this.#isDone) return
    this.#isDone = true
    await takeBack(this.#counters, this.#changes)
  }

  /** Returns parts of a WITH clause that clear them after the part `after`; null if only `clear` can. */
  within(after: string): { name: string; sql: Sql } | null {
    if (this.#isDone || this.#changes.length === 0) return null
    return this.#counters.changesIn?.(this.#changes, after) ?? null
  }

  /** Notes that a statement with the parts was committed. */
  areCleared(): void {
    this.#isDone = true
  }
}
