import fastifyCookie from '@fastify/cookie'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { Cookies } from './access/cookies.ts'
import { addCors } from './access/cors.ts'
import { openCallers } from './access/find-caller.ts'
import type { Lookups } from './access/lookups/lookups.ts'
import { openLookups } from './access/lookups/open.ts'
import { ApiDescription, addOpenApi, describedNow } from './access/openapi.ts'
import { openRequestLimits } from './access/request-limits.ts'
import { SessionStore } from './access/session-store.ts'
import { openSessions, type Sessions } from './access/sessions.ts'
import { Touches } from './access/touches.ts'
import { accountsOf } from './accounts.ts'
import type { Clock } from './clock.ts'
import type { CurrentConfig } from './config/current.ts'
import type { Database } from './database/database.ts'
import { openRedis, type Redis } from './database/redis.ts'
import { notFound } from './errors.ts'
import type { Feature } from './feature.ts'
import sessions from './features/active-sessions/routes.ts'
import assets from './features/assets/routes.ts'
import diagnose from './features/diagnose/routes.ts'
import emailChange from './features/email-change/routes.ts'
import verificationPages from './features/email-verification/pages/routes.ts'
import emailVerification from './features/email-verification/routes.ts'
import errorReference from './features/error-reference/routes.ts'
import forwardAuth from './features/forward-auth/routes.ts'
import health from './features/health/routes.ts'
import home from './features/home/routes.ts'
import { oauthBearer, oauthBound } from './features/oauth/bearer.ts'
import { redirectTarget } from './features/oauth/interaction/target.ts'
import { OAuthServer } from './features/oauth/protocol/oauth-server.ts'
import oauth from './features/oauth/routes.ts'
import { passkeyFeature } from './features/passkeys/feature.ts'
import passkeys from './features/passkeys/routes.ts'
import passwordConfirmation from './features/password-confirmation/routes.ts'
import passwordResetPages from './features/password-reset/pages/routes.ts'
import passwordReset from './features/password-reset/routes.ts'
import profile from './features/profile/routes.ts'
import reference from './features/reference/routes.ts'
import registrationPages from './features/registration/pages/routes.ts'
import registration from './features/registration/routes.ts'
import { sampleFeature } from './features/samples/feature.ts'
import samples from './features/samples/routes.ts'
import signInPage from './features/sign-in-page/routes.ts'
import { socialFeature } from './features/social/feature.ts'
import social from './features/social/routes.ts'
import session from './features/spa-session/routes.ts'
import testPage from './features/test-page/routes.ts'
import tokens from './features/tokens/routes.ts'
import twoFactor from './features/two-factor/routes.ts'
import unlock from './features/unlock/routes.ts'
import { startMetrics } from './gauges.ts'
import { addApiHeaders } from './http/api-headers.ts'
import { addBodyParsers } from './http/bodies.ts'
import { sendError } from './http/error-handler.ts'
import { addGracefulStop } from './http/graceful-stop.ts'
import { openMethodRules } from './http/methods.ts'
import { serverOptions } from './http/server-options.ts'
import { addHostRule } from './http/unreadable.ts'
import { addValidation } from './http/validation.ts'
import { addBackground } from './jobs/background.ts'
import { addOutbox } from './jobs/outbox.ts'
import type { Counters } from './limits/counters.ts'
import { DatabaseCounters } from './limits/database-counters.ts'
import { MemoryCounters } from './limits/memory-counters.ts'
import { RedisCounters } from './limits/redis-counters.ts'
import { PasswordHashing } from './login/hashing.ts'
import { LoginLimiter } from './login/login-limiter.ts'
import { RememberTokens } from './login/remember.ts'
import { SecondFactor } from './login/second-factor.ts'
import { addMail, type OpenTransport } from './mail/mail.ts'
import { addAccessLog, addForwardedWarning } from './observability/logging.ts'
import { addRequestMetrics, openMetrics } from './observability/metrics/requests.ts'
import { addTracing } from './observability/tracing/add-tracing.ts'
import type { ContinuationOptions } from './pages/continuation.ts'
import { addErrorPages } from './pages/error-pages.ts'
import { addPipeline, pipeline } from './pipeline.ts'
import { tokenBearer } from './tokens/bearer.ts'
import { startUpkeep } from './upkeep.ts'
import { legacyHashes } from './users/users.ts'
import { version } from './version.ts'

declare module 'fastify' {
  interface FastifyInstance {
    config: CurrentConfig
    clock: Clock
    database: Database
    lookups: Lookups
    sessions: Sessions
    touches: Touches
    hashing: PasswordHashing
    /** Null without `redis.url`. */
    redis: Redis | null
    /** Counters shared by all replicas. */
    counters: Counters
    loginLimiter: LoginLimiter
    remember: RememberTokens
    secondFactor: SecondFactor
    oauth: OAuthServer
  }
}

/** Parts of an app. The caller closes the database after the app. */
export interface AppParts {
  config: CurrentConfig
  database: Database
  clock: Clock
  logger: FastifyBaseLogger
  /** Whether to send traces, as configured in the environment. */
  traces?: boolean
  /** Replaces the transport of `mail.url`, for the test server. */
  openTransport?: OpenTransport
}

/** What features add to the rest of svc. The sign-in page shows them in this order. */
export const features: readonly Feature[] = [socialFeature, passkeyFeature, sampleFeature]

/** Builds the server: everything in it, in order. */
export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const { config, database, clock, logger } = parts
  const app = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    ...serverOptions(config.current().server),
    frameworkErrors: (_error, _request, reply) => sendError(reply, notFound()),
  }).withTypeProvider<TypeBoxTypeProvider>()

  app.decorate('config', config)
  app.decorate('clock', clock)
  app.decorate('database', database)
  app.decorate('features', features)
  await openMetrics(app)
  await addTracing(app, parts.traces)
  const lookups = await openLookups(app)
  app.decorate('lookups', lookups)
  app.decorate('hashing', new PasswordHashing(undefined, app))
  app.hashing.expect(await legacyHashes(database))
  const redis = await openRedis(config.current(), logger)
  app.decorate('redis', redis)
  const countersOr = (fallback: Counters) => (redis ? new RedisCounters(redis, fallback, logger) : fallback)
  const counters = countersOr(new DatabaseCounters(database))
  app.decorate('counters', counters)
  app.decorate('loginLimiter', new LoginLimiter(config, counters))
  app.decorate('secondFactor', new SecondFactor(config, database))
  // The cookie library joins the app below; nothing is parsed before.
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
  addBackground(app)
  addOutbox(app)
  addMail(app, parts.openTransport)
  addErrorPages(app)
  addAccessLog(app)
  addRequestMetrics(app)
  addForwardedWarning(app)
  addApiHeaders(app)
  addHostRule(app)
  // Without Redis each process counts `rate_limits.global` in memory: no request pays a query for it.
  const limits = await openRequestLimits(app, { routes: counters, global: countersOr(new MemoryCounters()) })
  addBodyParsers(app)
  addValidation(app)
  await app.register(fastifyCookie, { hook: false })
  await addCors(app)
  const store = new SessionStore({ database, lookups, clock, config })
  app.decorate('sessions', await openSessions(app, config, app.cookies, store))
  await addOpenApi(app, version)
  const oauthServer = new OAuthServer(app)
  app.decorate('oauth', oauthServer)
  app.decorate('sessionListener', oauthServer.signOut)
  const callers = openCallers(app, {
    bearers: [tokenBearer, oauthBearer(oauthServer)],
    bound: oauthBound(oauthServer),
    findRemembered: app.remember.find,
  })
  const methods = openMethodRules(app)
  const { findBearer } = callers
  addPipeline(app, pipeline({ callers, ...limits, methods }))

  await app.register(health)
  await app.register(errorReference)
  await app.register(diagnose)
  await app.register(forwardAuth, { findBearer })
  await app.register(session)
  await app.register(registration)
  await app.register(emailVerification)
  await app.register(verificationPages)
  const accounts = accountsOf(app)
  await app.register(emailChange, accounts)
  await app.register(passwordReset, accounts)
  await app.register(passwordResetPages, accounts)
  const continuation: ContinuationOptions = {
    formTarget: (request, returnTo) => redirectTarget(oauthServer, request, returnTo),
  }
  await app.register(assets)
  await app.register(signInPage, continuation)
  await app.register(registrationPages, continuation)
  await app.register(passwordConfirmation)
  await app.register(unlock)
  await app.register(profile, accounts)
  await app.register(twoFactor)
  await app.register(sessions)
  await app.register(tokens)
  await app.register(oauth, { oauthServer })
  await app.register(passkeys)
  await app.register(social, accounts)
  await app.register(home)
  if (config.current().samples) await app.register(samples)
  if (config.current().test_page) await app.register(testPage)
  if (config.current().app.environment === 'development') await app.register(reference)
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
  startMetrics(app)
  return app
}
