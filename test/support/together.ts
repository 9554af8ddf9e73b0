import type { TestApp } from './app.ts'

/**
 * Starts the next transactions of these apps only when all of them are ready, so that all have read the same state
 * before.
 */
export function beginTogether(...apps: readonly TestApp[]): void {
  const all = Promise.withResolvers<void>()
  const waiting = new Set(apps)
  for (const app of apps) {
    const transaction = app.database.transaction.bind(app.database)
    // A second transaction of the same app waits too. If it ran first, the other apps would read what it wrote, might not
    // begin a transaction at all, and the first one would wait forever.
    app.database.transaction = async (work) => {
      waiting.delete(app)
      if (waiting.size === 0) all.resolve()
      await all.promise
      return transaction(work)
    }
  }
}
