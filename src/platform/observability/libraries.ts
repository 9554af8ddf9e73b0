import { format } from 'node:util'
import type { FastifyBaseLogger } from 'fastify'

/** Logs what libraries print to the console, and the warnings of Node.js, which would otherwise be lines of text. */
export function logLibraries(log: Pick<FastifyBaseLogger, 'warn' | 'info'>): void {
  const warn = (...args: unknown[]) => log.warn({ source: 'library' }, format(...args))
  const info = (...args: unknown[]) => log.info({ source: 'library' }, format(...args))
  Object.assign(console, { warn, error: warn, log: info, info, debug: info })
  // This removes the listener that prints.
  process.removeAllListeners('warning')
  process.on('warning', ({ name, message }) => warn(`${name}: ${message}`))
}
