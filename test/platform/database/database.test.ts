import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { promisify } from 'node:util'
import Sqlite from 'libsql'
import t from 'tap'
import { openDatabase, openSqliteReader } from '../../../src/platform/database/database.ts'
import { migrationsFolder, readMigrations } from '../../../src/platform/database/migrations.ts'
import { createTestDatabase, testEngine } from '../../support/postgresql.ts'

const place = await createTestDatabase()
const database = await openDatabase({ engine: testEngine, url: place.url })
const { prisma } = database
t.teardown(async () => {
  await database.close()
  await place.drop()
})

const now = new Date('2026-01-02T03:04:05.678Z')
const person = (email: string) => ({
  name: 'A',
  email,
  createdAt: now,
  updatedAt: now,
})

function boot(url: string, writes = 0): Promise<object[]> {
  const args = [join(import.meta.dirname, 'boot.ts'), url, String(writes)]
  return promisify(execFile)(process.execPath, args).then(({ stdout }) => JSON.parse(stdout))
}

t.test('opens, answers, and reports its engine', async (t) => {
  await database.ping()
  t.equal(database.engine, testEngine)
  t.equal(database.pg !== undefined, testEngine === 'postgresql')
  t.equal(database.file, place.file)
})

t.test('assigns row numbers, and stores ids of 64 bits', async (t) => {
  const first = await prisma.user.create({
    data: person('first@example.test'),
  })
  const second = await prisma.user.create({
    data: person('second@example.test'),
  })
  t.equal(second.id, first.id + 1n)
  await prisma.user.delete({ where: { id: second.id } })
  const third = await prisma.user.create({
    data: person('third@example.test'),
  })
  t.equal(third.id, first.id + 2n, 'a number is never reused')

  const id = 2n ** 62n + 1n
  await prisma.sampleServer.create({ data: { id, name: 'far', userId: id } })
  t.same(await prisma.sampleServer.findMany({ where: { userId: id } }), [{ id, name: 'far', userId: id }])
  t.same(await prisma.$queryRaw`SELECT id, user_id FROM sample_servers`, [{ id, user_id: id }])
  const resetsAt = BigInt(now.getTime())
  t.match(
    await prisma.loginLimit.create({
      data: { key: 'k', failures: 3, resetsAt },
    }),
    { failures: 3, resetsAt },
  )
})

t.test('stores and compares times to the millisecond', async (t) => {
  const found = await prisma.user.findFirstOrThrow({
    where: { createdAt: { lte: now } },
  })
  t.equal(found.createdAt.getTime(), now.getTime())
  t.equal(await prisma.user.count({ where: { createdAt: { lt: now } } }), 0)
})

t.test('reports violated unique and foreign key constraints', async (t) => {
  await t.rejects(prisma.user.create({ data: person('first@example.test') }), {
    code: 'P2002',
  })
  await t.rejects(prisma.rememberToken.create({ data: remembered(999_999n) }), {
    code: 'P2003',
  })
  await t.rejects(
    database.transaction((tx) => tx.rememberToken.create({ data: remembered(999_999n) })),
    { code: 'P2003' },
  )
  const { id } = await prisma.user.findFirstOrThrow()
  await prisma.rememberToken.create({ data: remembered(id) })
  await prisma.user.delete({ where: { id } })
  t.equal(await prisma.rememberToken.count(), 0, "deleting a user deletes the user's rows")
})

function remembered(userId: bigint) {
  return {
    userId,
    tokenHash: 'h',
    createdAt: now,
    lastUsedAt: now,
    expiresAt: now,
  }
}

t.test('rolls back failed transactions, and retries when the database asks for it', async (t) => {
  const before = await prisma.sampleTask.count()
  const failing = database.transaction(async (tx) => {
    await tx.sampleTask.create({ data: { title: 'never' } })
    throw new Error('no')
  })
  await t.rejects(failing, { message: 'no' })
  t.equal(await prisma.sampleTask.count(), before)

  let attempts = 0
  const result = await database.transaction(async (tx) => {
    attempts++
    await tx.sampleTask.create({ data: { title: 'once' } })
    if (attempts < 3) throw Object.assign(new Error('clash'), { code: 'P2034' })
    return 'done'
  })
  t.equal(result, 'done')
  t.equal(await prisma.sampleTask.count(), before + 1)
  let refused = 0
  const hopeless = database.transaction(async () => {
    refused++
    throw Object.assign(new Error('clash'), { code: '40001' })
  })
  await t.rejects(hopeless, { code: '40001' })
  t.equal(refused, 5)
})

t.test('serializes 200 transactions, 50 at a time', async (t) => {
  await prisma.loginLimit.create({
    data: { key: 'at once', failures: 0, resetsAt: 0n },
  })
  const count = (n: number) =>
    database.transaction(async (tx) => {
      await tx.sampleTask.create({ data: { title: `in transaction ${n}` } })
      await tx.loginLimit.update({
        where: { key: 'at once' },
        data: { failures: { increment: 1 } },
      })
    })
  // More would wait longer for a connection than the pool allows on a busy machine.
  for (const wave of [0, 50, 100, 150]) await Promise.all(Array.from({ length: 50 }, (_, n) => count(wave + n)))
  t.equal((await prisma.loginLimit.findUniqueOrThrow({ where: { key: 'at once' } })).failures, 200)
  t.equal(
    await prisma.sampleTask.count({
      where: { title: { startsWith: 'in transaction' } },
    }),
    200,
  )
})

t.test('creates 500 rows concurrently', async (t) => {
  await Promise.all(
    Array.from({ length: 500 }, (_, n) => prisma.sampleTask.create({ data: { title: `at once ${n}` } })),
  )
  t.equal(
    await prisma.sampleTask.count({
      where: { title: { startsWith: 'at once' } },
    }),
    500,
  )
})

t.test('accepts concurrent writes from two processes', async (t) => {
  const before = await prisma.sampleTask.count()
  await Promise.all([boot(place.url, 100), boot(place.url, 100)])
  t.equal(await prisma.sampleTask.count(), before + 400)
})

t.test('applies each migration once when three processes start on an empty database', async (t) => {
  const bare = await createTestDatabase({ bare: true })
  t.teardown(() => bare.drop())
  const applied = await Promise.all([boot(bare.url), boot(bare.url), boot(bare.url)])
  // Each process may apply some of them.
  const counts = applied.flat().map((line) => Number((line as { migrations?: unknown }).migrations))
  const all = readMigrations(migrationsFolder(testEngine)).length
  t.equal(
    counts.reduce((sum, count) => sum + count, 0),
    all,
  )
})

if (testEngine === 'sqlite') {
  t.test('keeps the connection settings after a transaction', async (t) => {
    const pragma = async (name: string) =>
      Object.values((await prisma.$queryRawUnsafe<object[]>(`PRAGMA ${name}`))[0] ?? {})
    const settings = async () => [
      ...(await pragma('journal_mode')),
      ...(await pragma('synchronous')),
      ...(await pragma('foreign_keys')),
    ]
    const FULL = 2
    t.same(await settings(), ['wal', FULL, 1])
    await database.transaction((tx) => tx.sampleTask.count())
    await t.rejects(database.transaction(() => Promise.reject(new Error('undone'))))
    t.same(await settings(), ['wal', FULL, 1])
  })

  t.test('stores times as text with an offset', async (t) => {
    const reader = openSqliteReader(place.file ?? '')
    t.teardown(() => reader.close())
    t.same(reader.prepare('SELECT DISTINCT created_at FROM users').all(), [
      { created_at: '2026-01-02T03:04:05.678+00:00' },
    ])
    t.throws(() => reader.exec('DELETE FROM users'), /readonly/)
    await prisma.sampleTask.create({ data: { title: 'just now' } })
    const found = reader.prepare('SELECT count(*) AS n FROM sample_tasks WHERE title = ?').all('just now')
    t.same(found, [{ n: 1 }], 'a reader sees what was committed a moment ago')
  })

  t.test('commits a write that had to wait for another process', async (t) => {
    const other = new Sqlite(place.file ?? '')
    t.teardown(() => other.close())
    other.exec('BEGIN IMMEDIATE')
    let isDone = false
    const waiting = prisma.sampleTask.create({ data: { title: 'waited' } }).finally(() => {
      isDone = true
    })
    // The file is locked, so the write cannot finish however often the event loop turns.
    for (let turns = 0; turns < 100; turns++) await turn()
    t.notOk(isDone)
    other.exec('COMMIT')
    const { id } = await waiting
    t.same(other.prepare('SELECT title FROM sample_tasks WHERE id = ?').all(id), [{ title: 'waited' }])
    other.exec('BEGIN IMMEDIATE')
    other.exec('ROLLBACK')
  })
}
