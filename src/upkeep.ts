import type { FastifyInstance } from 'fastify'
import { pruneEnded } from './access/prune.ts'
import { pruneUsedOnce } from './access/used-once.ts'
import { startSchedule } from './jobs/schedule.ts'
import { watchClock } from './observability/clock-watch.ts'
import { pruneExpiredTokens } from './tokens/prune.ts'

/** Starts the daily jobs, on one replica at a time, and the clock check of each replica. */
export function startUpkeep(app: FastifyInstance): void {
  watchClock(app)
  startSchedule(app, [
    {
      name: 'prune-expired',
      every: 86_400_000,
      run: async () => {
        const now = app.clock.now()
        const config = app.config.current()
        await pruneExpiredTokens(app.database, config, config.tokens.prune_after_hours, now)
        await pruneEnded(app.database, config, now)
        await app.outbox.prune()
      },
    },
    { name: 'prune-used-once', every: 3_600_000, run: () => pruneUsedOnce(app.database, app.clock.now()) },
  ])
}
