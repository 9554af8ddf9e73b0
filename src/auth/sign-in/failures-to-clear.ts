import type { Sql } from '../../platform/database/sql.ts'
import { type Change, type Counters, takeBack } from '../../platform/limits/counters.ts'

/** Clears the failures of an account after a successful attempt, alone or within the statement that begins the session. */
export class FailuresToClear {
  readonly #counters: Counters
  readonly #changes: readonly Change[]
  #isDone = false

  constructor(counters: Counters, changes: readonly Change[]) {
    this.#counters = counters
    this.#changes = changes
  }

  /** Clears them in a statement of its own, unless they are cleared already. */
  async clear(): Promise<void> {
    if (this.#isDone) return
    this.#isDone = true
    await takeBack(this.#counters, this.#changes)
  }

  /** Returns parts of a WITH clause that clear them, after the part `after`. Null if only `clear` can, or nothing is left. */
  within(after: string): { name: string; sql: Sql } | null {
    if (this.#isDone || this.#changes.length === 0) return null
    return this.#counters.changesIn?.(this.#changes, after) ?? null
  }

  /** Call this after the commit of a statement that contains the parts. */
  noteCleared(): void {
    this.#isDone = true
  }
}
