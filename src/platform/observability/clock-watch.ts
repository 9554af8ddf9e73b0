import type { FastifyInstance } from 'fastify'

/** Maximum clock difference to the database without a warning, in milliseconds. */
const tolerated = 5_000

/** Interval between comparisons, in milliseconds. */
const every = 600_000

/** Warns when the clock differs from the database's: replicas would reject each other's codes. */
export function watchClock(app: FastifyInstance): void {
  const { clock, database } = app
  const { serverTime } = database
  if (!serverTime) return
  const look = async () => {
    const before = clock.now()
    const theirs = await serverTime().catch(() => null)
    // Other code reports an unavailable database.
    if (theirs === null) return
    const after = clock.now()
    // The clocks advanced during the query.
    const offBy = theirs < before ? before - theirs : Math.max(0, theirs - after)
    if (offBy <= tolerated) return
    const facts = { ahead_by_seconds: Math.round((before - theirs) / 1000) }
    app.log.warn(facts, 'the clock differs from the database clock; synchronize both with NTP')
  }
  const timer = setInterval(() => app.background(look), every).unref()
  app.addHook('onReady', async () => app.background(look))
  app.addHook('onClose', async () => clearInterval(timer))
}
