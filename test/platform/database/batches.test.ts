import t from 'tap'
import { deleteOutdated, inBatches } from '../../../src/platform/database/batches.ts'
import { buildTestApp } from '../../support/app.ts'
import { until } from '../../support/until.ts'

t.test('repeats batches until one is not full, and lets requests run in between', async (t) => {
  const steps: string[] = []
  let left = 51
  const total = await inBatches({}, async (batch) => {
    const done = Math.min(batch, left)
    left -= done
    steps.push(String(done))
    setTimeout(() => steps.push('request'), 0)
    return done
  })
  t.equal(total, 51)
  t.equal(steps.at(-1), '1')
  t.equal(steps.filter((step) => step === '25').length, 2)
  t.equal(steps.filter((step) => step === 'request').length, 2, 'both requests ran before the last batch')
})

t.test('ends after the current batch when the process stops', async (t) => {
  const { app } = await buildTestApp(t)
  let batches = 0
  app.background(async () => {
    await inBatches(app.database, async (batch) => {
      batches++
      if (batches === 2) void app.close()
      if (batches > 100) throw new Error('It did not end.')
      return batch
    })
  })
  await until(() => batches >= 2)
  await app.close()
  t.ok(batches < 100, `${batches} batches`)
})

t.test('deletes the oldest rows first, and begins each batch at the last date of the one before', async (t) => {
  const { database } = await buildTestApp(t)
  const { prisma } = database
  const rows = Array.from({ length: 60 }, (_, i) => ({ id: String(i), expiresAt: BigInt(1_000 + i) }))
  await prisma.usedOnce.createMany({ data: rows })
  const begins: unknown[] = []
  const watched = new Proxy(prisma, {
    get: (target, name) => {
      if (name !== '$queryRawUnsafe') return Reflect.get(target, name)
      return (text: string, end: bigint, from: bigint, batch: number) => {
        begins.push(from)
        return prisma.$queryRawUnsafe(text, end, from, batch)
      }
    },
  })
  const outdated = { table: 'used_once', date: 'expires_at', before: 1_055 }
  t.equal(await deleteOutdated({ ...database, prisma: watched }, outdated), 55)
  t.strictSame(begins, [0n, 1_024n, 1_049n])
  t.equal(await prisma.usedOnce.count(), 5)
})
