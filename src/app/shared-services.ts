import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { BoundSessions } from '../auth/access/bound-sessions.ts'
import { Cookies } from '../auth/access/cookies.ts'
import type { Lookups } from '../auth/access/lookups/lookups.ts'
import { openLookups } from '../auth/access/lookups/open.ts'
import type { Sessions } from '../auth/access/sessions.ts'
import { Touches } from '../auth/access/touches.ts'
import { type HashingThreads, PasswordHashing } from '../auth/sign-in/hashing.ts'
import { watchLegacyCosts } from '../auth/sign-in/legacy-costs.ts'
import type { LoginCodes } from '../auth/sign-in/login-codes.ts'
import { LoginLimiter } from '../auth/sign-in/login-limiter.ts'
import { RememberTokens } from '../auth/sign-in/remember.ts'
import { SecondFactor } from '../auth/sign-in/second-factor.ts'
import type { Clock } from '../platform/clock.ts'
import type { CurrentConfig } from '../platform/config/current.ts'
import type { Database } from '../platform/database/database.ts'
import { openRedis, type Redis } from '../platform/database/redis.ts'
import { Dependencies } from '../platform/dependencies.ts'
import type { Counters } from '../platform/limits/counters.ts'
import { DatabaseCounters } from '../platform/limits/database-counters.ts'
import { MemoryCounters } from '../platform/limits/memory-counters.ts'
import { RedisCounters } from '../platform/limits/redis-counters.ts'
import type { OpenTransport } from '../platform/mail/mail.ts'
import { openMetrics } from '../platform/observability/metrics/requests.ts'
import { addTracing } from '../platform/observability/tracing/add-tracing.ts'
import { hashingThreads } from '../platform/workers/count.ts'
import type { WorkerLink } from '../platform/workers/link.ts'
import { features } from './feature-list.ts'

declare module 'fastify' {
  interface FastifyInstance {
    config: CurrentConfig
    clock: Clock
    database: Database
    dependencies: Dependencies
    lookups: Lookups
    sessions: Sessions
    touches: Touches
    hashing: PasswordHashing
    /** Null without `redis.url`. */
    redis: Redis | null
    /** Counters shared by all replicas. */
    counters: Counters
    loginLimiter: LoginLimiter
    loginCodes: LoginCodes
    remember: RememberTokens
    secondFactor: SecondFactor
  }
}

/** Dependencies of an app. The caller closes the database after the app. */
export interface AppParts {
  config: CurrentConfig
  database: Database
  clock: Clock
  logger: FastifyBaseLogger
  /** Whether to send traces, as configured in the environment. */
  traces?: boolean
  /** Replaces the transport of `mail.url`, for the test server. */
  openTransport?: OpenTransport
  /** Hashing threads that several apps in one process share. */
  hashing?: HashingThreads
  /** Connection of a worker process to the primary; null if this process is the only one. */
  worker?: WorkerLink | null
}

/** Adds the services that need no request. Returns the counters of the request limits. */
export async function addServices(
  app: FastifyInstance,
  { config, database, clock, logger, traces, hashing, worker = null }: AppParts,
): Promise<{ routes: Counters; global: Counters }> {
  app.decorate('config', config)
  app.decorate('clock', clock)
  const closing = new AbortController()
  database.closing = closing.signal
  app.decorate('database', database)
  app.addHook('preClose', async () => closing.abort())
  app.decorate('dependencies', new Dependencies(logger))
  app.decorate('features', features)
  app.decorate('worker', worker)
  await openMetrics(app)
  await addTracing(app, traces)
  const lookups = await openLookups(app)
  app.decorate('lookups', lookups)
  app.decorate('hashing', new PasswordHashing({ threads: hashingThreads(worker), watch: app, shared: hashing }))
  await watchLegacyCosts(app)
  const redis = await openRedis(config, app.dependencies)
  app.decorate('redis', redis)
  const countersOr = (fallback: Counters) => (redis ? new RedisCounters(redis, fallback, logger) : fallback)
  const counters = countersOr(new DatabaseCounters(database))
  app.decorate('counters', counters)
  app.decorate('loginLimiter', new LoginLimiter(config, counters))
  app.decorate('secondFactor', new SecondFactor(config, database))
  // Uses @fastify/cookie, which is registered later, but before the first request.
  app.decorate('cookies', new Cookies(config, app))
  app.decorate('boundSessions', new BoundSessions(config, app.cookies))
  app.decorate('remember', new RememberTokens(config, app.cookies, app.boundSessions))
  app.decorate('touches', new Touches({ database, clock, config, log: logger }))
  app.addHook('onClose', async () => {
    await app.hashing.close()
    await app.touches.close()
    await lookups.close()
    redis?.disconnect()
  })
  // Without Redis, each replica counts `rate_limits.global` in memory, so that it costs no query.
  return { routes: counters, global: countersOr(worker?.counters ?? new MemoryCounters()) }
}
