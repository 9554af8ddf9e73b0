import type { TestApp } from './app.ts'

/**
 * Runs the work right before the next transaction begins, or before the statement that begins a session on PostgreSQL, so that
 * everything the request read before is out of date.
 */
export function beforeNextTransaction({ database }: TestApp, work: () => Promise<unknown>): void {
  const { transaction, pg } = database
  const query = pg?.query
  const restore = () => {
    database.transaction = transaction
    if (pg && query) pg.query = query
  }
  database.transaction = async (body) => {
    restore()
    await work()
    return transaction(body)
  }
  if (!pg || !query) return
  const waiting = async (...args: [{ name?: string }, ...unknown[]]) => {
    if (args[0].name?.startsWith('sign-in:')) {
      restore()
      await work()
    }
    return Reflect.apply(query, pg, args)
  }
  // Sound: it passes on the same arguments and result. Prisma and svc use promises.
  pg.query = waiting as typeof query
}
