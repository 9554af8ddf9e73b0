import type { FastifyInstance } from 'fastify'
import { gaugeReading } from '../platform/observability/metrics/gauge-reading.ts'
import { serveMetrics } from '../platform/observability/metrics/listener.ts'

/** Serves the metrics, if configured, and adds gauges that are read on each scrape. */
export async function startMetrics(app: FastifyInstance): Promise<void> {
  const { metrics, database, lookups, hashing, outbox, worker } = app
  const { server, metrics: wanted } = app.config.current()
  if (!metrics || wanted.port === null) return
  const work = gaugeReading(() => outbox.state())
  const pools = Object.entries({ main: database.pg, lookups: lookups.pool })
  metrics.gauge(
    'svc_database_connections',
    'Connections to PostgreSQL by pool and state.',
    ['pool', 'state'],
    (set) => {
      for (const [pool, counts] of pools) {
        if (!counts) continue
        set(counts.totalCount - counts.idleCount, { pool, state: 'used' })
        set(counts.idleCount, { pool, state: 'idle' })
      }
    },
  )
  metrics.gauge('svc_database_waiting', 'Queries that wait for a connection, by pool.', ['pool'], (set) => {
    for (const [pool, counts] of pools) if (counts) set(counts.waitingCount, { pool })
  })
  metrics.gauge('svc_database_up', 'Whether the database answers.', [], async (set) => {
    await work().then(
      () => set(1),
      () => set(0),
    )
  })
  metrics.gauge('svc_dependency_up', 'Whether the last call to it succeeded.', ['dependency'], (set) => {
    for (const [dependency, works] of app.dependencies.states()) set(works ? 1 : 0, { dependency })
  })
  metrics.gauge('svc_hashing_queue', 'Passwords that wait for a thread.', [], (set) => set(hashing.queued))
  metrics.gauge('svc_outbox_entries', 'Mails and other work, by kind and state.', ['kind', 'state'], async (set) => {
    for (const [kind, { pending, failed }] of await work()) {
      set(pending, { kind, state: 'pending' })
      set(failed, { kind, state: 'failed' })
    }
  })
  const oldest = 'The age of the oldest pending work, by kind; 0 if there is none.'
  metrics.gauge('svc_outbox_oldest_age_seconds', oldest, ['kind'], async (set) => {
    for (const [kind, { age }] of await work()) set(age / 1000, { kind })
  })
  for (const { gauges } of app.features) await gauges?.(app, metrics)
  if (!worker) {
    serveMetrics(app, metrics, { host: server.host, port: wanted.port })
    return
  }
  worker.shareMetrics(() => metrics.values())
  // The primary keeps the counts of a worker that ends.
  app.addHook('onClose', () => worker.sendMetrics())
}
