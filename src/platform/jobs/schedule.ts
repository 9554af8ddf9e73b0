import type { FastifyInstance } from 'fastify'

/** A recurring job, run by one process per database. */
export interface RecurringJob {
  name: string
  /** Interval between starts in milliseconds. */
  every: number
  run(): Promise<void>
}

/** Polling interval in milliseconds. */
const pollInterval = 60_000

/** Polls for due jobs. A conditional update of the job's row elects the process that runs it. */
export function startSchedule(app: FastifyInstance, jobs: readonly RecurringJob[]): void {
  const look = () => {
    for (const job of jobs) app.background(() => runIfDue(app, job))
  }
  const timer = setInterval(look, pollInterval).unref()
  app.addHook('onReady', async () => look())
  app.addHook('onClose', async () => clearInterval(timer))
}

/** Delay before any process retries a failed run, in milliseconds. */
const retryAfter = 600_000

/**
 * Runs the job if it is due and no other process claimed it. A failed job is due again after ten minutes. A job that was
 * interrupted by the shutdown of its process is due again immediately.
 */
export async function runIfDue({ database, clock, log }: FastifyInstance, job: RecurringJob): Promise<void> {
  const { prisma } = database
  const now = new Date(clock.now())
  const due = new Date(now.getTime() - job.every)
  const taken = await prisma.job.updateMany({
    where: { name: job.name, lastRunAt: { lte: due } },
    data: { lastRunAt: now },
  })
  if (taken.count === 0) {
    // The first process to see a job inserts its row; the job then waits one interval.
    const known = await prisma.job.findUnique({ where: { name: job.name } })
    if (!known) await prisma.job.create({ data: { name: job.name, lastRunAt: now } }).catch(() => undefined)
    return
  }
  log.info({ job: job.name }, 'job started')
  const repeatAfter = async (delay: number) => {
    const lastRunAt = new Date(due.getTime() + delay)
    await prisma.job.updateMany({ where: { name: job.name, lastRunAt: now }, data: { lastRunAt } })
  }
  try {
    await job.run()
  } catch (error) {
    await repeatAfter(retryAfter)
    throw error
  }
  // During a shutdown, a job can return before it is finished. Another process then repeats it.
  if (database.closing?.aborted) await repeatAfter(0)
}
