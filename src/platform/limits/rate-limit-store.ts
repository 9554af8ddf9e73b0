import type { FastifyRateLimitStore, FastifyRateLimitStoreCtor } from '@fastify/rate-limit'
import type { Clock } from '../clock.ts'
import type { Counters } from './counters.ts'

/**
 * Makes @fastify/rate-limit count in svc's counters. A limit with options of its own counts in `children`, the library's
 * own instance in `counters`.
 */
export function rateLimitStore(clock: Clock, counters: Counters, children: Counters): FastifyRateLimitStoreCtor {
  return class Store implements FastifyRateLimitStore {
    incr(...[name, done, window, max]: Parameters<FastifyRateLimitStore['incr']>): void {
      const now = clock.now()
      const answer = counters.hit(name, { max, window, block: 'window' }, now).then((hit) =>
        // The library rejects a request whose count is above the maximum.
        hit.allowed ? { current: hit.count, ttl: hit.resetsAt - now } : { current: max + 1, ttl: hit.until - now },
      )
      answer.then((counted) => done(null, counted), done)
    }

    child(): FastifyRateLimitStore {
      return new (rateLimitStore(clock, children, children))({})
    }
  }
}
