import fastifyRateLimit, { type FastifyRateLimitStore } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Redis } from '../database/redis.ts'
import { tooManyRequests } from '../errors.ts'
import { limitedAddress } from './client-address.ts'
import type { Step } from './step.ts'

/** Maximum number of addresses counted in memory; the oldest is dropped first. */
const maxAddresses = 10_000

/** Counts a request; returns the count and the remaining time of the window. */
const countScript = `
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return {count, redis.call('PTTL', KEYS[1])}`

/**
 * Limits the requests per address by `rate_limits.global`. Replicas share counters in Redis; without it, each process
 * counts separately.
 */
export async function openGlobalLimit(app: FastifyInstance, redis: Redis | null): Promise<Step> {
  const rate = () => app.config.current().rate_limits.global
  await app.register(fastifyRateLimit, {
    global: false,
    // A reload may have removed the limit after the hook read it.
    max: () => rate()?.max ?? Number.MAX_SAFE_INTEGER,
    timeWindow: () => rate()?.window ?? 1,
    keyGenerator: (request) => limitedAddress(request.ip),
    errorResponseBuilder: (_request, { ttl }) => tooManyRequests('Too Many Attempts.', Math.ceil(ttl / 1000)),
    store: counters(redis),
  })
  const count = app.rateLimit()
  const limit = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    if (rate() === null) done()
    else count.call(app, request, reply).then(() => done(), done)
  }
  return { name: 'global limit', phase: 'onRequest', answers: [429], hooksFor: () => [limit] }
}

interface Counted {
  current: number
  /** Remaining milliseconds of the window. */
  ttl: number
}

/**
 * Counters in Redis, if configured. During an outage each process counts in memory, so that the limit still applies.
 */
function counters(redis: Redis | null) {
  return class Counters implements FastifyRateLimitStore {
    readonly #own = new OwnCounters()

    incr(address: string, done: (error: Error | null, counted?: Counted) => void, window: number): void {
      this.#count(address, window).then((counted) => done(null, counted), done)
    }

    child(): FastifyRateLimitStore {
      return this
    }

    async #count(address: string, window: number): Promise<Counted> {
      const answer = await redis?.eval(countScript, 1, `requests:${address}`, window).catch(() => null)
      const [current, ttl] = Array.isArray(answer) ? answer.map(Number) : []
      return current !== undefined && ttl !== undefined ? { current, ttl } : this.#own.count(address, window)
    }
  }
}

/** Counters in the memory of this process. */
class OwnCounters {
  readonly #windows = new Map<string, { current: number; end: number }>()

  count(address: string, window: number): Counted {
    const now = performance.now()
    const known = this.#windows.get(address)
    const counted = known && known.end > now ? known : { current: 0, end: now + window }
    counted.current++
    this.#windows.set(address, counted)
    const [oldest] = this.#windows.keys()
    if (this.#windows.size > maxAddresses && oldest !== undefined) this.#windows.delete(oldest)
    return { current: counted.current, ttl: counted.end - now }
  }
}
