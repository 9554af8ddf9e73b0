import type { FastifyInstance } from 'fastify'
import { routePattern } from '../../http/route-pattern.ts'
import { version } from '../../version.ts'
import type { Metrics } from './metrics.ts'

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

declare module 'fastify' {
  interface FastifyInstance {
    /** Null without `metrics.port`. */
    metrics: Metrics | null
  }
}

/** Adds `app.metrics`; the library loads only if metrics are on. */
export async function openMetrics(app: FastifyInstance): Promise<void> {
  const { config, database } = app
  if (config.current().metrics.port === null) return void app.decorate('metrics', null)
  const { Metrics } = await import('./metrics.ts')
  app.decorate('metrics', new Metrics({ version, node: process.versions.node, database: database.engine }))
}

/** Counts responses by route pattern. Unmatched paths share one label. */
export function addRequestMetrics(app: FastifyInstance): void {
  const { metrics } = app
  if (!metrics) return
  app.addHook('onResponse', (request, reply, done) => {
    const method = methods.has(request.method) ? request.method : 'other'
    metrics.request(method, routePattern(request) ?? 'none', reply.statusCode, reply.elapsedTime / 1000)
    done()
  })
}
