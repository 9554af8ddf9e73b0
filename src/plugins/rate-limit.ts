import fastifyRateLimit from '@fastify/rate-limit'
import type { FastifyInstance } from 'fastify'
import { tooManyRequests } from '../errors.ts'
import { limitedAddress } from './client-address.ts'

/** Limits every client's requests as `rate_limits.global` says; in each process by itself, and nothing without it. */
export async function addGlobalLimit(app: FastifyInstance): Promise<void> {
  const rate = app.config.current().rate_limits.global
  if (!rate) return
  await app.register(fastifyRateLimit, {
    max: () => app.config.current().rate_limits.global?.max ?? Number.MAX_SAFE_INTEGER,
    timeWindow: rate.window,
    keyGenerator: (request) => limitedAddress(request.ip),
    errorResponseBuilder: (_request, { ttl }) => tooManyRequests('Too Many Attempts.', Math.ceil(ttl / 1000)),
  })
}
