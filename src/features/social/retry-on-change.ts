import type { Database, Tx } from '../../platform/database/database.ts'

/** Maximum number of attempts while other requests change the facts. */
const maxTries = 5

/** Thrown to roll back a transaction whose facts a concurrent request has changed. */
export class FactsChanged extends Error {}

/** Runs a transaction, and repeats it when it throws `FactsChanged`. */
export async function retryOnChange<Result>(database: Database, decide: (tx: Tx) => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await database.transaction(decide)
    } catch (error) {
      if (!(error instanceof FactsChanged) || tries === maxTries) throw error
    }
  }
}
