import type { FastifyInstance } from 'fastify'
import { lookupConnections } from '../../../platform/workers/count.ts'
import type { Lookups } from './lookups.ts'
import { postgresqlLookups } from './postgresql.ts'

/** Opens the lookups of the configured engine. */
export async function openLookups(
  app: Pick<FastifyInstance, 'config' | 'database' | 'metrics' | 'tracing' | 'worker'>,
): Promise<Lookups> {
  const { database } = app.config.current()
  if (database.engine === 'postgresql') {
    const connections = lookupConnections(app.worker)
    return postgresqlLookups(app.config, connections, app, app.database.state)
  }
  // Loaded on demand: the native driver would cost memory on PostgreSQL.
  const { sqliteLookups } = await import('./sqlite.ts')
  return sqliteLookups(database.file ?? '', app)
}
