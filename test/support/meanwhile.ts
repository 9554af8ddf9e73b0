import type { TestApp } from './app.ts'

/**
 * Runs the work right before the next transaction begins, so that everything the request read before is out of date.
 */
export function beforeNextTransaction({ database }: TestApp, work: () => Promise<unknown>): void {
  const { transaction } = database
  database.transaction = async (body) => {
    database.transaction = transaction
    await work()
    return transaction(body)
  }
}
