import type { FastifyInstance } from 'fastify'
import { pruneIdempotencyKeys } from '../auth/access/idempotency.ts'
import { pruneAccess } from '../auth/access/prune.ts'
import { pruneUsedOnce } from '../auth/access/used-once.ts'
import { pruneExpiredTokens } from '../auth/tokens/prune.ts'
import { startSchedule } from '../platform/jobs/schedule.ts'
import { watchClock } from '../platform/observability/clock-watch.ts'

/** Deletes all expired rows: those of the shared modules, of the features and of the outbox. */
export async function pruneExpired({ database, clock, config, outbox, features }: FastifyInstance): Promise<void> {
  const now = clock.now()
  const settings = config.current()
  await pruneExpiredTokens(database, settings, settings.tokens.prune_after, now)
  await pruneAccess(database, settings, now)
  await pruneIdempotencyKeys(database, now)
  for (const { prune } of features) await prune?.(database, now)
  await outbox.prune()
}

/** Starts the recurring jobs, on one replica at a time, and the clock check of each replica. */
export function startUpkeep(app: FastifyInstance): void {
  if (app.worker && app.worker.number > 1) return
  watchClock(app)
  startSchedule(app, [
    { name: 'prune-expired', every: 86_400_000, run: () => pruneExpired(app) },
    { name: 'prune-used-once', every: 3_600_000, run: () => pruneUsedOnce(app.database, app.clock.now()) },
    ...app.features.flatMap(({ jobs }) => jobs?.(app) ?? []),
  ])
}
