import fastifyRateLimit from '@fastify/rate-limit'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { tooManyRequests } from '../errors.ts'
import { limitedAddress } from './client-address.ts'

/** Limits every client's requests as `rate_limits.global` says; in each process by itself, and nothing without it. */
export async function addGlobalLimit(app: FastifyInstance): Promise<void> {
  const rate = () => app.config.current().rate_limits.global
  await app.register(fastifyRateLimit, {
    global: false,
    // Asked again after the hook looked: a limit that was lifted meanwhile refuses nobody.
    max: () => rate()?.max ?? Number.MAX_SAFE_INTEGER,
    timeWindow: () => rate()?.window ?? 1,
    keyGenerator: (request) => limitedAddress(request.ip),
    errorResponseBuilder: (_request, { ttl }) => tooManyRequests('Too Many Attempts.', Math.ceil(ttl / 1000)),
  })
  const count = app.rateLimit()
  const limit = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    if (rate() === null) done()
    else count.call(app, request, reply).then(() => done(), done)
  }
  app.addHook('onRoute', (route: RouteOptions) => {
    route.onRequest = [...[route.onRequest ?? []].flat(), limit]
  })
}
