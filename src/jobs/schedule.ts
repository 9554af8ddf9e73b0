import type { FastifyInstance } from 'fastify'

/** Recurring work: of all processes on one database, one does it. */
export interface RecurringJob {
  name: string
  /** Milliseconds from one run's beginning to the next's. */
  every: number
  run(): Promise<void>
}

/** How often each process looks whether a job is due. */
const lookEvery = 60_000

/** Looks for due jobs now and then; the conditional update of a job's row elects the process that runs it. */
export function startSchedule(app: FastifyInstance, jobs: readonly RecurringJob[]): void {
  const look = () => {
    for (const job of jobs) app.background(() => runIfDue(app, job))
  }
  const timer = setInterval(look, lookEvery).unref()
  app.addHook('onReady', async () => look())
  app.addHook('onClose', async () => clearInterval(timer))
}

/** How soon a run that failed is tried again, by whichever process comes first. */
const retryAfter = 600_000

/** Runs the job if it is due and no other process took it; a run that fails is due again ten minutes later. */
export async function runIfDue({ database, clock, log }: FastifyInstance, job: RecurringJob): Promise<void> {
  const { prisma } = database
  const now = new Date(clock.now())
  const due = new Date(now.getTime() - job.every)
  const taken = await prisma.job.updateMany({
    where: { name: job.name, lastRunAt: { lte: due } },
    data: { lastRunAt: now },
  })
  if (taken.count === 0) {
    // The first process to see a job writes its row; the job itself waits for its time.
    const known = await prisma.job.findUnique({ where: { name: job.name } })
    if (!known) await prisma.job.create({ data: { name: job.name, lastRunAt: now } }).catch(() => undefined)
    return
  }
  log.info({ job: job.name }, 'job begins')
  try {
    await job.run()
  } catch (error) {
    const lastRunAt = new Date(due.getTime() + retryAfter)
    await prisma.job.updateMany({ where: { name: job.name, lastRunAt: now }, data: { lastRunAt } })
    throw error
  }
}
