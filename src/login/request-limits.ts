import type { FastifyReply, FastifyRequest } from 'fastify'
import { tooManyRequests } from '../errors.ts'
import { limitedAddress } from '../http/client-address.ts'
import type { Step } from '../http/step.ts'

/** `link` counts like `mail`, but not by the address of a signed-in user: opening a link sends no mail. */
type LimitName = 'register' | 'mail' | 'link' | 'token'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Counts requests to the route by this key of `rate_limits`; see `countRequest`. */
    limit?: LimitName
  }
}

/**
 * Counts the request and adds rate-limit headers. Throws 429 above the limit. Requests that send mail count by user and
 * by address, all others by user or else by address.
 */
export async function countRequest(request: FastifyRequest, reply: FastifyReply, name: LimitName): Promise<void> {
  const { config, clock, limits } = request.server
  const key = name === 'link' ? 'mail' : name
  const rate = config.current().rate_limits[key]
  if (!rate) return
  const now = clock.now()
  const { user } = request.caller ?? {}
  const byUser = user ? [`${key}:user ${user.id}`] : []
  const byAddress = user && name !== 'mail' ? [] : [`${key}:${limitedAddress(request.ip)}`]
  let most = 0
  reply.header('x-ratelimit-limit', String(rate.max))
  for (const counter of [...byUser, ...byAddress]) {
    const counted = await limits.reserve(counter, { ...rate, block: 'window' }, now)
    if (!counted.allowed) {
      reply.header('x-ratelimit-remaining', '0')
      throw tooManyRequests('Too Many Attempts.', Math.max(1, Math.ceil((counted.until - now) / 1000)), {
        headers: { 'x-ratelimit-reset': String(Math.ceil(counted.until / 1000)) },
      })
    }
    most = Math.max(most, counted.failures)
  }
  reply.header('x-ratelimit-remaining', String(Math.max(0, rate.max - most)))
}

/** Counts requests to routes that declare `limit`. */
export const requestLimit: Step = {
  name: 'request limit',
  phase: 'preValidation',
  answers: [429],
  hooksFor: ({ config }) => {
    const name = config?.limit
    return name ? [(request: FastifyRequest, reply: FastifyReply) => countRequest(request, reply, name)] : null
  },
}
