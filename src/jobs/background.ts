import type { FastifyInstance } from 'fastify'
import { isUnavailable } from '../database/unavailable.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Does work after the answer; a failure is logged, and closing waits for it. */
    background(work: () => Promise<void>): void
  }
}

/** Adds `app.background`. */
export function addBackground(app: FastifyInstance): void {
  const running = new Set<Promise<void>>()
  app.decorate('background', (work: () => Promise<void>) => {
    const done = new Promise<void>((resolve) => setImmediate(resolve))
      .then(work)
      // An outage is told as one, and not as an error of svc.
      .catch((error) => app.log[isUnavailable(error) ? 'warn' : 'error']({ err: error }, 'background work failed'))
      .finally(() => running.delete(done))
    running.add(done)
  })
  app.addHook('onClose', async () => {
    await Promise.all(running)
  })
}
