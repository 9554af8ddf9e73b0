import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import type { Delivery } from '../../../src/platform/jobs/job-queue.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { hour } from '../../support/clock.ts'

const add = ({ app, database }: TestApp, payload: object) =>
  database.transaction((tx) => app.outbox.add(tx, 'test', payload))

const rowsOf = ({ database }: TestApp) => database.prisma.outbox.findMany({ orderBy: { id: 'asc' } })

t.test('starts no waiting job while it closes', async (t) => {
  const svc = await buildTestApp(t)
  const gate = Promise.withResolvers<void>()
  const allBegun = Promise.withResolvers<void>()
  let begun = 0
  svc.app.outbox.handle('test', async () => {
    if (++begun === 5) allBegun.resolve()
    await gate.promise
  })
  await svc.database.transaction(async (tx) => {
    for (let i = 0; i < 8; i++) await svc.app.outbox.add(tx, 'test', { i })
  })
  await allBegun.promise
  // Meanwhile, the lane begins to wait for a place.
  await turn()
  const closing = svc.app.outbox.close()
  gate.resolve()
  await closing
  t.equal(begun, 5)
  t.equal((await rowsOf(svc)).length, 3, 'the others wait for the next process')
})

t.test('waits for running jobs on close, and aborts them after a timeout', async (t) => {
  const svc = await buildTestApp(t)
  const begun = Promise.withResolvers<Delivery>()
  const gate = Promise.withResolvers<void>()
  svc.app.outbox.handle('test', async (_payload, delivery) => {
    begun.resolve(delivery)
    await gate.promise
  })
  await add(svc, {})
  await begun.promise
  let isClosed = false
  const closing = svc.app.close().then(() => {
    isClosed = true
  })
  for (let turns = 0; turns < 100; turns++) await turn()
  t.notOk(isClosed)
  gate.resolve()
  await closing
  t.strictSame(await rowsOf(svc), [], 'it was done')

  const stuck = await buildTestApp(t, { database: svc.where, clock: svc.clock })
  const held = Promise.withResolvers<Delivery>()
  stuck.app.outbox.handle('test', (_payload, delivery) => {
    held.resolve(delivery)
    return new Promise(() => undefined)
  })
  await add(stuck, {})
  const { signal } = await held.promise
  await stuck.app.close()
  t.ok(signal.aborted)
  t.match(await rowsOf(svc), [{ attempts: 1, failedAt: null, lastError: 'The process is ending.' }])

  const next = await buildTestApp(t, { database: svc.where, clock: svc.clock })
  let done = 0
  next.app.outbox.handle('test', async () => void done++)
  next.clock.advance(hour)
  await next.app.outbox.deliverDue()
  t.equal(done, 1, 'the next process does it')
})
