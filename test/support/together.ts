import type { TestApp } from './app.ts'

/** Lets the next transaction of each of these apps begin only when all of them have come that far: what was read before it is then the same. */
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
