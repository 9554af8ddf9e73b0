import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { deriveCipher } from '../../../src/platform/crypto/keys.ts'
import { UndeliverableError } from '../../../src/platform/jobs/job-queue.ts'
import { buildTestApp, type TestApp } from '../../support/app.ts'
import { day, minute, second } from '../../support/clock.ts'

const secret = 'the-secret-of-the-tests-is-32-bytes-long'

const add = ({ app, database }: TestApp, payload: object, kind = 'test') =>
  database.transaction((tx) => app.outbox.add(tx, kind, payload))

const rowsOf = ({ database }: TestApp) => database.prisma.outbox.findMany({ orderBy: { id: 'asc' } })

t.test('runs a job once, in the background, and deletes it', async (t) => {
  const svc = await buildTestApp(t)
  const done: unknown[] = []
  const finished = Promise.withResolvers<void>()
  svc.app.outbox.handle('test', async (payload, { id, attempts }) => {
    done.push([payload, typeof id, attempts])
    finished.resolve()
  })
  await add(svc, { a: [1, 'ä'] })
  await finished.promise
  await svc.app.outbox.deliverDue()
  t.strictSame(done, [[{ a: [1, 'ä'] }, 'bigint', 1]])
  t.strictSame(await rowsOf(svc), [])

  await t.rejects(
    svc.database.transaction(async (tx) => {
      await svc.app.outbox.add(tx, 'test', {})
      throw new Error('no')
    }),
    { message: 'no' },
  )
  await svc.app.outbox.deliverDue()
  t.equal(done.length, 1, 'a rolled-back task does not run')
})

t.test('delivers the jobs that due and running jobs add', async (t) => {
  const svc = await buildTestApp(t)
  const gate = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  let isDone = false
  svc.app.outbox.handle('first', async () => {
    begun.resolve()
    await gate.promise
    await add(svc, {}, 'second')
  })
  svc.app.outbox.handle('second', () => add(svc, {}, 'third'))
  svc.app.outbox.handle('third', async () => {
    isDone = true
  })
  await add(svc, {}, 'first')
  await begun.promise
  const delivered = svc.app.outbox.deliverDue()
  gate.resolve()
  await delivered
  t.ok(isDone)
})

t.test('retries failed jobs with growing delays, and finally gives up', async (t) => {
  const svc = await buildTestApp(t)
  const { app, clock, database } = svc
  let attempts = 0
  app.outbox.handle('test', async () => {
    attempts++
    throw new Error(`no\r\nnot now ${'x'.repeat(400)}`)
  })
  await add(svc, { link: 'https://example.com/secret-link' })
  const waits = [10, 30, 90, 270, 810, 2430, 7290, 21_600, 21_600].map((seconds) => seconds * second)
  for (const [index, wait] of waits.entries()) {
    await app.outbox.deliverDue()
    clock.advance(wait - 1)
    await app.outbox.deliverDue()
    t.equal(attempts, index + 1, `it waits ${wait / second} s`)
    clock.advance(1)
  }
  const [waiting] = await rowsOf(svc)
  t.match(waiting, { attempts: 9, failedAt: null, lockedUntil: null, lastError: /^no not now x+$/ })
  t.equal(waiting?.lastError?.length, 300)
  await app.outbox.deliverDue()
  t.match(await rowsOf(svc), [{ attempts: 10, failedAt: new Date(clock.now()) }])
  clock.advance(day)
  await app.outbox.deliverDue()
  t.equal(attempts, 10)
  const lines = svc.logs.filter((line) => line.includes('outbox')).map((line) => JSON.parse(line))
  t.same(
    lines.map(({ level, msg }) => [level, msg]),
    [...waits.map(() => ['warn', 'outbox job failed, will retry']), ['error', 'outbox job failed permanently']],
  )
  t.notMatch(svc.logs.join(''), /secret-link/)

  await app.outbox.prune()
  t.equal((await rowsOf(svc)).length, 1, 'an operator can see it')
  clock.advance(30 * day)
  await add(svc, {}, 'later')
  await app.outbox.prune()
  t.match(await rowsOf(svc), [{ kind: 'later', attempts: 0 }], 'waiting work is not pruned')
  await database.prisma.outbox.deleteMany()
})

t.test('gives up undeliverable jobs immediately, and ignores unknown kinds', async (t) => {
  const svc = await buildTestApp(t)
  let isTried = false
  svc.app.outbox.handle('test', async () => {
    throw new UndeliverableError('mailbox not found')
  })
  svc.app.outbox.handle('next', async () => {
    isTried = true
  })
  await add(svc, {})
  await add(svc, {}, 'unknown')
  await add(svc, {}, 'next')
  await svc.app.outbox.deliverDue()
  t.match(await rowsOf(svc), [
    { kind: 'test', attempts: 1, lastError: 'mailbox not found', failedAt: Date },
    { kind: 'unknown', attempts: 0, failedAt: null },
  ])
  t.ok(isTried, 'the others continue')
})

t.test('runs jobs with the same order key one after the other', async (t) => {
  const svc = await buildTestApp(t)
  const { app, clock, database } = svc
  const done: string[] = []
  let isDown = true
  const handler = async ({ name }: { name: string }) => {
    if (isDown && name.startsWith('ada')) throw new Error('down')
    done.push(name)
  }
  app.outbox.handleSeparately('apart', handler, { retryDelay: (attempts) => (attempts > 2 ? null : minute) })
  const names = ['ada 1', 'ada 2', 'bob 1', 'ada 3', 'none']
  await database.transaction(async (tx) => {
    for (const name of names) {
      const [owner = ''] = name.split(' ')
      await app.outbox.add(tx, 'apart', { name }, owner === 'none' ? {} : { orderKey: owner })
    }
  })
  await app.outbox.deliverDue()
  t.same(done.sort(), ['bob 1', 'none'], 'a failed job blocks only the later ones with its key')
  isDown = false
  clock.advance(minute)
  await app.outbox.deliverDue()
  t.same(done.slice(2), ['ada 1', 'ada 2', 'ada 3'])

  isDown = true
  await database.transaction((tx) => app.outbox.add(tx, 'apart', { name: 'ada 4' }, { orderKey: 'ada' }))
  for (let attempts = 0; attempts < 3; attempts++) {
    await app.outbox.deliverDue()
    clock.advance(minute)
  }
  isDown = false
  await database.transaction((tx) => app.outbox.add(tx, 'apart', { name: 'ada 5' }, { orderKey: 'ada' }))
  await app.outbox.deliverDue()
  t.same(done.slice(5), ['ada 5'], 'a job that failed permanently blocks no other')
  t.match(await rowsOf(svc), [{ attempts: 3, failedAt: Date }])

  await app.outbox.remove('apart')
  await database.transaction((tx) => app.outbox.add(tx, 'apart', { name: 'ada 6' }, { orderKey: 'ada' }))
  await app.outbox.deliverDue()
  t.equal((await rowsOf(svc)).length, 2, 'jobs of a removed kind stay')
})

t.test('encrypts stored jobs separately for each kind, and supports secret rotation', async (t) => {
  const svc = await buildTestApp(t)
  const read: unknown[] = []
  await add(svc, { link: 'https://example.com/secret-link' })
  const [row] = await rowsOf(svc)
  const payload = row?.payload ?? ''
  t.notMatch(Buffer.from(payload, 'base64url').toString('latin1') + payload, /secret-link|https/)
  t.match(deriveCipher([secret], 'outbox').decrypt(payload, 'test'), /secret-link/)
  t.equal(deriveCipher([secret], 'outbox').decrypt(payload, 'mail'), null, 'one kind is never read as another')

  const other = await buildTestApp(t, { database: svc.where, env: { SVC_SECRET: `another-${secret}` } })
  other.app.outbox.handle('test', async (payload) => void read.push(payload))
  await other.app.outbox.deliverDue()
  t.match(
    await rowsOf(svc),
    [{ failedAt: null, lastError: 'No secret in app.secret decrypts the payload.' }],
    'it is not lost',
  )
  other.clock.advance(minute)
  const rotated = await buildTestApp(t, {
    database: svc.where,
    clock: other.clock,
    env: { SVC_SECRET: `another-${secret},${secret}` },
  })
  rotated.app.outbox.handle('test', async (payload) => void read.push(payload))
  await rotated.app.outbox.deliverDue()
  t.strictSame(read, [{ link: 'https://example.com/secret-link' }])
})

t.test('never runs one job in two processes, and limits concurrency', async (t) => {
  const first = await buildTestApp(t)
  const second = await buildTestApp(t, { database: first.where, clock: first.clock })
  const done: string[] = []
  const working = new Set<string>()
  const bothWork = Promise.withResolvers<void>()
  let underWay = 0
  let most = 0
  for (const [name, { app }] of Object.entries({ first, second })) {
    app.outbox.handle('test', async (payload) => {
      most = Math.max(most, ++underWay)
      // Each process waits for the other one, so that a fast one leaves jobs.
      working.add(name)
      if (working.size === 2) bothWork.resolve()
      await bothWork.promise
      for (let turns = 0; turns < 5; turns++) await turn()
      underWay--
      done.push(`${name} ${JSON.stringify(payload)}`)
    })
  }
  await first.database.transaction(async (tx) => {
    for (let i = 0; i < 60; i++) await first.app.outbox.add(tx, 'test', { i })
  })
  await Promise.all([first.app.outbox.deliverDue(), second.app.outbox.deliverDue()])
  t.same(
    done.map((line) => JSON.parse(line.replace(/^\w+ /, '')).i).sort((a, b) => a - b),
    Array.from({ length: 60 }, (_, i) => i),
  )
  t.same([...new Set(done.map((line) => line.split(' ')[0]))].sort(), ['first', 'second'], 'both processes worked')
  t.ok(most > 1 && most <= 10, `${most} at a time`)
  t.strictSame(await rowsOf(first), [])
})

t.test('runs the jobs of a dead process in another one after the lease expires', async (t) => {
  const svc = await buildTestApp(t)
  let done = 0
  svc.app.outbox.handle('test', async () => void done++)
  const lockedUntil = new Date(svc.clock.now() + 2 * minute)
  await add(svc, {})
  await svc.database.prisma.outbox.updateMany({ data: { lockedUntil, attempts: 1 } })
  await svc.app.outbox.deliverDue()
  t.equal(done, 0)
  svc.clock.advance(2 * minute)
  await svc.app.outbox.deliverDue()
  t.equal(done, 1)
})

t.test('ignores the result of an attempt that lost its lease', async (t) => {
  const svc = await buildTestApp(t)
  const gate = Promise.withResolvers<void>()
  svc.app.outbox.handle('test', () => gate.promise)
  await add(svc, {})
  const slow = svc.app.outbox.deliverDue()
  while ((await rowsOf(svc))[0]?.attempts !== 1) await turn()
  await svc.database.prisma.outbox.updateMany({ data: { attempts: 2 } })
  gate.resolve()
  await slow
  t.match(await rowsOf(svc), [{ attempts: 2 }], 'only the other attempt may delete the row')
})
