import type { FastifyInstance } from 'fastify'

/** What every answer carries: it is nobody's to keep, and no browser is to guess what it is. */
export function addApiHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'no-store')
    reply.header('x-content-type-options', 'nosniff')
    done()
  })
}
