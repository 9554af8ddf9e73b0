import { setImmediate as turn } from 'node:timers/promises'
import type { TestApp } from './app.ts'
import { until } from './until.ts'

/** Requests that wait at the start of a transaction. */
export interface TransactionHold {
  /** The number of waiting transactions. */
  count(): number
  /** Lets later transactions start immediately; waiting ones keep waiting. */
  passOthers(): void
  /** Lets the waiting ones start. */
  release(): void
}

/** Stops every transaction before it begins, so that a test can order racing requests exactly. */
export function holdTransactions({ database }: TestApp): TransactionHold {
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

/**
 * Lets transactions that write to the table wait for each other: those that `start` begins hold their locks until
 * `count` of them wait. Only PostgreSQL; SQLite has one writer.
 */
export async function whileTableIsHeld<Result>(
  { database: { pg } }: TestApp,
  table: string,
  start: () => Promise<Result>,
  count: number,
): Promise<Result> {
  if (!pg) return start()
  const holder = await pg.connect()
  try {
    await holder.query(`BEGIN; LOCK TABLE ${table} IN SHARE MODE`)
    const started = start()
    await until(async () => (await pg.query(waiting)).rows.length >= count)
    await holder.query('COMMIT')
    return await started
  } finally {
    holder.release()
  }
}

const waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

/** Waits until a request waits for the transaction that the test has open, or is answered because it does not wait. */
export async function untilWaiting({ database: { pg } }: TestApp, request: Promise<unknown>): Promise<void> {
  let isAnswered = false
  void request.finally(() => {
    isAnswered = true
  })
  if (pg) await until(async () => isAnswered || (await pg.query(waiting)).rows.length > 0)
  // SQLite has one connection: every statement of the request waits for the transaction.
  else for (let turns = 0; turns < 100; turns++) await turn()
}
