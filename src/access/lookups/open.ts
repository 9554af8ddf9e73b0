import type { FastifyInstance } from 'fastify'
import type { Lookups } from './lookups.ts'
import { postgresqlLookups } from './postgresql.ts'

/** Opens the lookups of the engine in use. */
export async function openLookups(
  app: Pick<FastifyInstance, 'config' | 'log' | 'metrics' | 'tracing'>,
): Promise<Lookups> {
  const { engine, url, file } = app.config.current().database
  if (engine === 'postgresql') {
    return postgresqlLookups(url, app, (error) => app.log.warn({ err: error }, 'lost a database connection'))
  }
  // Loaded only where it is used: the native driver would cost a server on PostgreSQL its memory.
  const { sqliteLookups } = await import('./sqlite.ts')
  return sqliteLookups(file ?? '', app)
}
