import t from 'tap'
import { runIfDue } from '../../../src/platform/jobs/schedule.ts'
import { buildTestApp } from '../../support/app.ts'
import { day, minute } from '../../support/clock.ts'
import { until } from '../../support/until.ts'

t.test('runs a job once a day, and retries ten minutes after a failure', async (t) => {
  const { app, clock } = await buildTestApp(t)
  let runs = 0
  let fails = false
  const job = {
    name: 'a-job-of-the-tests',
    every: day,
    run: async () => {
      runs++
      if (fails) throw new Error('the disk is full')
    },
  }
  await runIfDue(app, job)
  t.equal(runs, 0, 'the first process that sees a job only records it')
  clock.advance(day)
  await runIfDue(app, job)
  await runIfDue(app, job)
  t.equal(runs, 1)

  clock.advance(day)
  fails = true
  await t.rejects(runIfDue(app, job), { message: 'the disk is full' })
  clock.advance(9 * minute)
  await runIfDue(app, job)
  t.equal(runs, 2, 'not yet')
  fails = false
  clock.advance(minute)
  await runIfDue(app, job)
  t.equal(runs, 3)
  clock.advance(day - minute)
  await runIfDue(app, job)
  t.equal(runs, 3, 'a successful run counts for a day')
})

t.test('leaves a job to the next process if this one stops meanwhile', async (t) => {
  const { app, where, clock } = await buildTestApp(t)
  const next = await buildTestApp(t, { database: where, clock })
  const runs: string[] = []
  const job = (name: string, run = async () => {}) => ({
    name: 'a-long-job',
    every: day,
    run: async () => {
      runs.push(name)
      await run()
    },
  })
  await runIfDue(app, job('first'))
  clock.advance(day)
  app.background(() =>
    runIfDue(
      app,
      job('first', async () => {
        void app.close()
        await until(() => app.database.closing?.aborted === true)
      }),
    ),
  )
  await until(() => runs.length === 1)
  await app.close()
  await runIfDue(next.app, job('next'))
  await runIfDue(next.app, job('next'))
  t.same(runs, ['first', 'next'])
})
