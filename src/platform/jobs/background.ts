import type { FastifyInstance } from 'fastify'
import { isUnavailable } from '../database/unavailable.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Runs work after the response. Failures are logged, and closing waits for the work. */
    background(work: () => Promise<void>): void
  }
}

/** Adds `app.background`. */
export function addBackground(app: FastifyInstance): void {
  const running = new Set<Promise<void>>()
  app.decorate('background', (work: () => Promise<void>) => {
    const done = new Promise<void>((resolve) => setImmediate(resolve))
      .then(work)
      // An unavailable database is a warning, not an error of svc.
      .catch((error) => app.log[isUnavailable(error) ? 'warn' : 'error']({ err: error }, 'background work failed'))
      .finally(() => running.delete(done))
    running.add(done)
  })
  app.addHook('onClose', async () => {
    await Promise.all(running)
  })
}
