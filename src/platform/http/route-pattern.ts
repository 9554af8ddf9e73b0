import type { FastifyRequest } from 'fastify'

/** The patterns of requests whose method their path does not support. */
const refused = new WeakMap<FastifyRequest, string>()

/** Records the pattern of a path that does not support the method of the request. */
export function markRefused(request: FastifyRequest, pattern: string): void {
  refused.set(request, pattern)
}

/** Returns the pattern of the route that a request is for, or undefined if its path is unknown. */
export function routePattern(request: FastifyRequest): string | undefined {
  const { url = '*' } = request.routeOptions
  return url === '*' ? refused.get(request) : url
}
