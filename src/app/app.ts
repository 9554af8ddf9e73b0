import fastifyCookie from '@fastify/cookie'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyPluginAsync, LogController } from 'fastify'
import { Cookies } from '../auth/access/cookies.ts'
import { addCors } from '../auth/access/cors.ts'
import { openCallers } from '../auth/access/find-caller.ts'
import type { Lookups } from '../auth/access/lookups/lookups.ts'
import { openLookups } from '../auth/access/lookups/open.ts'
import { ApiDescription, addOpenApi, describedNow } from '../auth/access/openapi.ts'
import { openRequestLimits } from '../auth/access/request-limits.ts'
import { SessionStore } from '../auth/access/session-store.ts'
import { openSessions, type Sessions } from '../auth/access/sessions.ts'
import { Touches } from '../auth/access/touches.ts'
import { openBodyLimit } from '../auth/access/unfinished-bodies.ts'
import { accountsOf } from '../auth/accounts.ts'
import { type HashingThreads, PasswordHashing } from '../auth/sign-in/hashing.ts'
import { watchLegacyCosts } from '../auth/sign-in/legacy-costs.ts'
import { LoginCodes } from '../auth/sign-in/login-codes.ts'
import { LoginLimiter } from '../auth/sign-in/login-limiter.ts'
import { RememberTokens } from '../auth/sign-in/remember.ts'
import { SecondFactor } from '../auth/sign-in/second-factor.ts'
import { tokenBearer } from '../auth/tokens/bearer.ts'
import { addEventExport } from '../features/event-export/exporter.ts'
import { addGuardPort } from '../features/forward-auth/guard-port.ts'
import { addWebhooks } from '../features/webhooks/sender.ts'
import { addErrorPages } from '../pages/error-pages.ts'
import type { Clock } from '../platform/clock.ts'
import type { CurrentConfig } from '../platform/config/current.ts'
import type { Database } from '../platform/database/database.ts'
import { openRedis, type Redis } from '../platform/database/redis.ts'
import { Dependencies } from '../platform/dependencies.ts'
import { notFound } from '../platform/errors.ts'
import { addApiHeaders } from '../platform/http/api-headers.ts'
import { addBodyParsers } from '../platform/http/bodies.ts'
import { sendError } from '../platform/http/error-handler.ts'
import { addGracefulStop } from '../platform/http/graceful-stop.ts'
import { openMethodRules } from '../platform/http/methods.ts'
import { namePlugins } from '../platform/http/plugin-names.ts'
import { serverOptions } from '../platform/http/server-options.ts'
import { addTranslatedMessages } from '../platform/http/translated-messages.ts'
import { addHostRule } from '../platform/http/unreadable.ts'
import { addValidation } from '../platform/http/validation.ts'
import { addBackground } from '../platform/jobs/background.ts'
import { addOutbox } from '../platform/jobs/outbox.ts'
import type { Counters } from '../platform/limits/counters.ts'
import { DatabaseCounters } from '../platform/limits/database-counters.ts'
import { MemoryCounters } from '../platform/limits/memory-counters.ts'
import { RedisCounters } from '../platform/limits/redis-counters.ts'
import { addMail, type OpenTransport } from '../platform/mail/mail.ts'
import { addAccessLog, addForwardedWarning } from '../platform/observability/logging.ts'
import { addRequestMetrics, openMetrics } from '../platform/observability/metrics/requests.ts'
import { addTracing } from '../platform/observability/tracing/add-tracing.ts'
import { version } from '../platform/version.ts'
import { hashingThreads } from '../platform/workers/count.ts'
import type { WorkerLink } from '../platform/workers/link.ts'
import { features } from './feature-list.ts'
import { startMetrics } from './metrics.ts'
import { addPipeline, pipeline } from './pipeline.ts'
import { startUpkeep } from './upkeep.ts'

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

/** Builds the server: its services, the request pipeline, and the features. Services and hooks depend on their order here. */
export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const { config, database, clock, logger, worker = null } = parts
  const app = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    ...serverOptions(config.current().server),
    frameworkErrors: (_error, _request, reply) => sendError(reply, notFound()),
  }).withTypeProvider<TypeBoxTypeProvider>()

  namePlugins(app)
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
  await addTracing(app, parts.traces)
  const lookups = await openLookups(app)
  app.decorate('lookups', lookups)
  app.decorate('hashing', new PasswordHashing({ threads: hashingThreads(worker), watch: app, shared: parts.hashing }))
  await watchLegacyCosts(app)
  const redis = await openRedis(config, app.dependencies)
  app.decorate('redis', redis)
  const countersOr = (fallback: Counters) => (redis ? new RedisCounters(redis, fallback, logger) : fallback)
  const counters = countersOr(new DatabaseCounters(database))
  app.decorate('counters', counters)
  app.decorate('loginLimiter', new LoginLimiter(config, counters))
  app.decorate('secondFactor', new SecondFactor(config, database))
  // Uses @fastify/cookie, which is registered below, but not before the first request.
  app.decorate('cookies', new Cookies(config, app))
  app.decorate('remember', new RememberTokens(config, app.cookies))
  app.decorate('touches', new Touches({ database, clock, config, log: logger }))
  app.addHook('onClose', async () => {
    await app.hashing.close()
    await app.touches.close()
    await lookups.close()
    redis?.disconnect()
  })

  addGracefulStop(app)
  addGuardPort(app)
  addBackground(app)
  addOutbox(app)
  addMail(app, parts.openTransport)
  addWebhooks(app)
  addErrorPages(app)
  addAccessLog(app)
  addRequestMetrics(app)
  addForwardedWarning(app)
  addApiHeaders(app)
  addTranslatedMessages(app)
  addHostRule(app)
  // Without Redis, each replica counts `rate_limits.global` in memory, so that it costs no query.
  const inMemory = worker?.counters ?? new MemoryCounters()
  const limits = await openRequestLimits(app, { routes: counters, global: countersOr(inMemory) })
  addBodyParsers(app)
  addValidation(app)
  await app.register(fastifyCookie, { hook: false })
  await addCors(app)
  const store = new SessionStore({ database, lookups, clock, config })
  app.decorate('sessions', await openSessions(app, config, app.cookies, store))
  await addOpenApi(app, version)
  app.decorate('accounts', accountsOf(app))
  app.decorate('loginCodes', new LoginCodes(app))
  for (const { services } of features) await services?.(app)
  const callers = openCallers(app, { apiToken: tokenBearer, findRemembered: app.remember.find })
  const methods = openMethodRules(app)
  addPipeline(app, pipeline({ callers, ...limits, bodyLimit: openBodyLimit(), methods }))

  const on = features.filter(({ isOn }) => isOn?.(config.current()) ?? true)
  const plugins = await Promise.all(on.flatMap(({ routes = [] }) => routes.map((load) => load())))
  // TypeScript cannot know that each plugin expects the type provider of this app.
  for (const { default: plugin } of plugins) await app.register(plugin as FastifyPluginAsync)
  app.get(
    '/openapi.json',
    {
      config: { access: { family: 'none' } },
      schema: {
        operationId: 'getApiDescription',
        tags: ['Health'],
        summary: 'This description',
        description:
          'OpenAPI 3.1, made from the routes and the configuration of this server. Client generators read it.',
        response: { 200: ApiDescription },
      },
    },
    async () => describedNow(app),
  )
  methods.complete()
  startUpkeep(app)
  addEventExport(app)
  startMetrics(app)
  return app
}
