import type { FastifyInstance } from 'fastify'
import { lookupConnections } from '../../workers/count.ts'
import type { Lookups } from './lookups.ts'
import { postgresqlLookups } from './postgresql.ts'

/** Opens the lookups of the configured engine. */
export async function openLookups(
  app: Pick<FastifyInstance, 'config' | 'log' | 'metrics' | 'tracing' | 'worker'>,
): Promise<Lookups> {
  const { engine, url, file } = app.config.current().database
  if (engine === 'postgresql') {
    const connections = lookupConnections(app.worker)
    return postgresqlLookups(url, connections, app, (error) => app.log.warn({ err: error }, 'database connection lost'))
  }
  // Loaded on demand: the native driver would cost memory on PostgreSQL.
  const { sqliteLookups } = await import('./sqlite.ts')
  return sqliteLookups(file ?? '', app)
}
