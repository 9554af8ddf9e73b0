import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { tooManyRequests } from '../errors.ts'
import { limitedAddress } from '../plugins/client-address.ts'

type LimitName = 'register' | 'mail' | 'token'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Counts every request to the route, by signed-in user or else by address, under this key of `rate_limits`. */
    limit?: LimitName
  }
}

/** Counts the request by signed-in user or else by address, and says so in the answer; throws 429 when there were too many. */
export async function countRequest(request: FastifyRequest, reply: FastifyReply, name: LimitName): Promise<void> {
  const { config, clock, limits } = request.server
  const rate = config.current().rate_limits[name]
  if (!rate) return
  const now = clock.now()
  const { user } = request.caller ?? {}
  const key = `${name}:${user ? `user ${user.id}` : limitedAddress(request.ip)}`
  const counted = await limits.reserve(key, { ...rate, block: 'window' }, now)
  const left = counted.allowed ? Math.max(0, rate.max - counted.failures) : 0
  reply.header('x-ratelimit-limit', String(rate.max)).header('x-ratelimit-remaining', String(left))
  if (counted.allowed) return
  throw tooManyRequests('Too Many Attempts.', Math.max(1, Math.ceil((counted.until - now) / 1000)), {
    headers: { 'x-ratelimit-reset': String(Math.ceil(counted.until / 1000)) },
  })
}

/** Limits the routes that declare it, after the CSRF check and before everything that follows. */
export function addRequestLimits(app: FastifyInstance): void {
  app.addHook('onRoute', (route: RouteOptions) => {
    const name = route.config?.limit
    if (!name) return
    const count = (request: FastifyRequest, reply: FastifyReply) => countRequest(request, reply, name)
    route.preValidation = [...[route.preValidation ?? []].flat(), count]
  })
}
