import type { TestApp } from './app.ts'

/** Requests that have come as far as a transaction and wait there. */
export interface Held {
  /** How many transactions wait. */
  count(): number
  /** Lets later transactions through at once; those that wait go on waiting. */
  passOthers(): void
  /** Lets those that wait begin. */
  release(): void
}

/** Stops every transaction before it begins: a test puts racing requests into an exact order with it. */
export function holdTransactions({ database }: TestApp): Held {
  const transaction = database.transaction.bind(database)
  const gate = Promise.withResolvers<void>()
  let count = 0
  database.transaction = async (work) => {
    count++
    await gate.promise
    return transaction(work)
  }
  const passOthers = () => {
    database.transaction = transaction
  }
  return { count: () => count, passOthers, release: gate.resolve }
}
