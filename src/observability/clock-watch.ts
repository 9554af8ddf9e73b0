import type { FastifyInstance } from 'fastify'

/** How far the clocks of this process and the database may be apart before it is told, in milliseconds. */
const tolerated = 5_000

/** How often they are compared, in milliseconds. */
const every = 600_000

/** Warns when this process's clock is not the database's: replicas that disagree refuse each other's codes. */
export function watchClock(app: FastifyInstance): void {
  const { clock, database } = app
  const { serverTime } = database
  if (!serverTime) return
  const look = async () => {
    const before = clock.now()
    const theirs = await serverTime().catch(() => null)
    // A database that does not answer is told elsewhere.
    if (theirs === null) return
    const after = clock.now()
    // While the question was on its way, either clock went on.
    const offBy = theirs < before ? before - theirs : Math.max(0, theirs - after)
    if (offBy <= tolerated) return
    const facts = { ahead_by_seconds: Math.round((before - theirs) / 1000) }
    app.log.warn(facts, "the clock differs from the database's: let both follow a time server")
  }
  const timer = setInterval(() => app.background(look), every).unref()
  app.addHook('onReady', async () => app.background(look))
  app.addHook('onClose', async () => clearInterval(timer))
}
