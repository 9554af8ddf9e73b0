import { Batch } from '../../../../auth/access/lookups/batch.ts'
import { isUnavailable } from '../../../../platform/database/unavailable.ts'
import { takes } from './shortcuts.ts'

/** A write that requests make. */
interface Write<Item, Result> {
  /** Id of the item. Items with the same id are not written by one statement. */
  idOf(item: Item): string
  /**
   * Writes items in one statement, except those whose rows are locked or that cannot be written. Returns the results by
   * the ids of the written items.
   */
  writeAvailable(items: Item[]): Promise<Map<string, Result>>
  /** Writes one item. Waits for locked rows. */
  write(item: Item): Promise<Result>
}

interface Outcome<Item, Result> {
  item: Item
  result: Result
}

/**
 * Combines the same write of concurrent requests into one statement, because a round trip and a commit cost more than a
 * row. Each item that the statement does not write gets a separate one, so that no request waits for the lock of another
 * request or fails with it.
 */
export class WriteBatch<Item, Result> {
  readonly #write: Write<Item, Result>
  readonly #batch = new Batch<Item, Outcome<Item, Result>>(
    (items) => this.#writeAll(items),
    ({ item }) => item,
  )

  constructor(write: Write<Item, Result>) {
    this.#write = write
  }

  async run(item: Item): Promise<Result> {
    if (!takes('write-batches')) return this.#write.write(item)
    const outcome = await this.#batch.find(item)
    return outcome ? outcome.result : this.#write.write(item)
  }

  /** Returns the outcomes of the written items. */
  async #writeAll(items: Item[]): Promise<Outcome<Item, Result>[]> {
    const { idOf, writeAvailable } = this.#write
    const different = new Map(items.map((item) => [idOf(item), item]))
    try {
      const results = await writeAvailable([...different.values()])
      return [...results].flatMap(([id, result]) => {
        const item = different.get(id)
        return item ? [{ item, result }] : []
      })
    } catch (error) {
      if (isUnavailable(error)) throw error
      // The separate statements find the item that failed.
      return []
    }
  }
}
