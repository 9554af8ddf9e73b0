import type { FastifyReply } from 'fastify'

/** Tells caches that the response depends on a header of the request. */
export function varyBy(reply: FastifyReply, header: string): FastifyReply {
  const varied = reply.getHeader('vary')
  return reply.header('vary', varied ? `${varied}, ${header}` : header)
}
