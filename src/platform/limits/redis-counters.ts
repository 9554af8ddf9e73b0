import type { FastifyBaseLogger } from 'fastify'
import { sha256Hex } from '../crypto/hash.ts'
import type { Tx } from '../database/database.ts'
import type { Redis } from '../database/redis.ts'
import { type Counters, growth, type Hit, isBlocked, type LimitRule } from './counters.ts'

/** The same decision as the database's conditional upsert, in one atomic script. */
const hitScript = `
local now, max, window, growing = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1'
local first, doublings, maxDelay = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local found = redis.call('HMGET', KEYS[1], 'failures', 'resets_at', 'blocked_until')
local failures, resets, blocked = tonumber(found[1] or 0), tonumber(found[2] or 0), tonumber(found[3] or 0)
if blocked > now and (growing or failures >= max) then return {0, blocked} end
if resets <= now then
  failures, resets = 1, now + window
  blocked = max <= 1 and resets or 0
else
  failures = failures + 1
  if failures < max then blocked = 0
  elseif not growing then blocked = resets
  else
    resets = now + window
    blocked = failures >= max + doublings and now + maxDelay or now + first * 2 ^ (failures - max)
  end
end
redis.call('HSET', KEYS[1], 'failures', failures, 'resets_at', resets, 'blocked_until', blocked)
redis.call('PEXPIRE', KEYS[1], math.max(resets, blocked) - now + 1000)
return {1, failures, resets}`

const undoScript = `
local failures = tonumber(redis.call('HGET', KEYS[1], 'failures') or 0)
if failures <= 1 then redis.call('DEL', KEYS[1])
else redis.call('HSET', KEYS[1], 'failures', failures - 1, 'blocked_until', 0) end`

const keyOf = (name: string): string => `limit:${sha256Hex(name)}`

/** Counters in Redis, shared by all replicas. During an outage the fallback counts, so that the limits still apply. */
export class RedisCounters implements Counters {
  readonly #redis: Redis
  readonly #fallback: Counters
  readonly #log: FastifyBaseLogger

  constructor(redis: Redis, fallback: Counters, log: FastifyBaseLogger) {
    this.#redis = redis
    this.#fallback = fallback
    this.#log = log
  }

  hit(name: string, rule: LimitRule, now: number): Promise<Hit> {
    return this.#orElse(
      async () => {
        const facts = [now, rule.max, rule.window, rule.block === 'growing' ? 1 : 0]
        const delays = [growth.first, growth.doublings, growth.maxDelay]
        const answer = await this.#redis.eval(hitScript, 1, keyOf(name), ...facts, ...delays)
        const [isAllowed, value, resetsAt] = Array.isArray(answer) ? answer.map(Number) : []
        if (value === undefined) throw new Error('Redis returned no result for the counter script.')
        if (isAllowed !== 1 || resetsAt === undefined) return { allowed: false, until: value }
        return { allowed: true, count: value, resetsAt }
      },
      () => this.#fallback.hit(name, rule, now),
    )
  }

  blockedUntil(name: string, rule: LimitRule, now: number): Promise<number | null> {
    return this.#orElse(
      async () => {
        const found = await this.#redis.hmget(keyOf(name), 'failures', 'blocked_until')
        const [count = 0, until = 0] = found.map(Number)
        return isBlocked({ count, resetsAt: until, blockedUntil: until }, rule, now) ? until : null
      },
      () => this.#fallback.blockedUntil(name, rule, now),
    )
  }

  undo(name: string): Promise<void> {
    return this.#orElse(
      async () => void (await this.#redis.eval(undoScript, 1, keyOf(name))),
      () => this.#fallback.undo(name),
    )
  }

  reset(name: string): Promise<void> {
    return this.#orElse(
      async () => void (await this.#redis.del(keyOf(name))),
      () => this.#fallback.reset(name),
    )
  }

  /** Hits in a transaction are in the database: Redis could not take them back, and its locks would wait for Redis. */
  within(tx: Tx): Counters {
    return this.#fallback.within(tx)
  }

  async #orElse<Value>(work: () => Promise<Value>, fallback: () => Promise<Value>): Promise<Value> {
    try {
      return await work()
    } catch (error) {
      this.#log.debug({ err: error }, 'Redis failed, using the fallback counters')
      return fallback()
    }
  }
}
