import type { Database, Tx } from '../../database/database.ts'

/** Maximum number of retries when another request changed the facts. */
const maxTries = 5

/** Rolls back a decision when another request changed its facts. */
export class Overtaken extends Error {}

/** Repeats a transaction that another request overtook. */
export async function untilCurrent<Result>(database: Database, decide: (tx: Tx) => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await database.transaction(decide)
    } catch (error) {
      if (!(error instanceof Overtaken) || tries === maxTries) throw error
    }
  }
}
