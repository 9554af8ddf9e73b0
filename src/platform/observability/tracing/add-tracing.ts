import type { FastifyInstance } from 'fastify'

/** Adds `app.tracing`. The libraries are loaded only if traces are enabled. */
export async function addTracing(app: FastifyInstance, isEnabled = false): Promise<void> {
  if (!isEnabled) return void app.decorate('tracing', null)
  const { startTracing } = await import('./open-telemetry.ts')
  app.decorate('tracing', await startTracing(app))
}
