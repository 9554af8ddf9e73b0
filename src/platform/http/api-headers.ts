import type { FastifyInstance } from 'fastify'

/** Adds headers to every response that prevent caching and MIME sniffing. */
export function addApiHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'no-store')
    reply.header('x-content-type-options', 'nosniff')
    done()
  })
}
