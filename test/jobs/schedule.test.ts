import t from 'tap'
import { runIfDue } from '../../src/jobs/schedule.ts'
import { buildTestApp } from '../support/app.ts'
import { day, minute } from '../support/clock.ts'

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
