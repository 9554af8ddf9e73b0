import type { FastifyInstance } from 'fastify'

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
      .catch((error) => app.log.error({ err: error }, 'background work failed'))
      .finally(() => running.delete(done))
    running.add(done)
  })
  app.addHook('onClose', async () => {
    await Promise.all(running)
  })
}
