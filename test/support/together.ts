import type { TestApp } from './app.ts'

/**
 * Starts the next transactions of these apps only when all of them are ready, so that all have read the same state
 * before.
 */
export function beginTogether(...apps: readonly TestApp[]): void {
  const all = Promise.withResolvers<void>()
  let arrived = 0
  for (const { database } of apps) {
    const transaction = database.transaction.bind(database)
    let isFirst = true
    database.transaction = async (work) => {
      if (isFirst) {
        isFirst = false
        arrived++
        if (arrived === apps.length) all.resolve()
        await all.promise
        database.transaction = transaction
      }
      return transaction(work)
    }
  }
}
