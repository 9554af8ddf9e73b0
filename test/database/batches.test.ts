// engine: none
import t from 'tap'
import { inBatches } from '../../src/database/batches.ts'
import { buildTestApp } from '../support/app.ts'
import { until } from '../support/until.ts'

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
