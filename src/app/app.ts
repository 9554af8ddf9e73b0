import fastifyCookie from '@fastify/cookie'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyInstance, type FastifyPluginAsync, LogController } from 'fastify'
import { addCors } from '../auth/access/cors.ts'
import { openCallers } from '../auth/access/find-caller.ts'
import { addOpenApi } from '../auth/access/openapi.ts'
import { openRequestLimits } from '../auth/access/request-limits.ts'
import { SessionStore } from '../auth/access/session-store.ts'
import { openSessions } from '../auth/access/sessions.ts'
import { openBodyLimit } from '../auth/access/unfinished-bodies.ts'
import { accountsOf } from '../auth/accounts.ts'
import { LoginCodes } from '../auth/sign-in/login-codes.ts'
import { boundToken, tokenBearer } from '../auth/tokens/bearer.ts'
import { subscriberOf } from '../contract/feature.ts'
import { addErrorPages } from '../pages/error-pages.ts'
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
import { addMail } from '../platform/mail/mail.ts'
import { addAccessLog, addForwardedWarning } from '../platform/observability/logging.ts'
import { addRequestMetrics } from '../platform/observability/metrics/requests.ts'
import { version } from '../platform/version.ts'
import { features } from './feature-list.ts'
import { startMetrics } from './metrics.ts'
import { addPipeline, pipeline } from './pipeline.ts'
import { type AppParts, addServices } from './shared-services.ts'
import { startUpkeep } from './upkeep.ts'

/** Builds the server: its services, the request pipeline, and the features. Services and hooks depend on their order here. */
export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const { config, database, clock, logger } = parts
  const app = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    ...serverOptions(config.current().server),
    frameworkErrors: (_error, _request, reply) => sendError(reply, notFound()),
  }).withTypeProvider<TypeBoxTypeProvider>()

  namePlugins(app)
  const counters = await addServices(app, parts)
  addGracefulStop(app)
  for (const { firstHooks } of features) await firstHooks?.(app)
  addBackground(app)
  addOutbox(app)
  app.decorate('subscriber', subscriberOf(features, app))
  addMail(app, parts.openTransport)
  addErrorPages(app)
  addAccessLog(app)
  addRequestMetrics(app)
  addForwardedWarning(app)
  addApiHeaders(app)
  addTranslatedMessages(app)
  addHostRule(app)
  const limits = await openRequestLimits(app, counters)
  addBodyParsers(app)
  addValidation(app)
  await app.register(fastifyCookie, { hook: false })
  await addCors(app)
  const store = new SessionStore({ database, lookups: app.lookups, clock, config, subscriber: app.subscriber })
  app.decorate('sessions', await openSessions(app, config, { bound: app.boundSessions, cookies: app.cookies, store }))
  await addOpenApi(app, version)
  app.decorate('accounts', accountsOf(app))
  app.decorate('loginCodes', new LoginCodes(app))
  for (const { services } of features) await services?.(app)

  const callers = openCallers(app, {
    apiToken: tokenBearer,
    boundApiToken: boundToken,
    findRemembered: app.remember.find,
  })
  const methods = openMethodRules(app)
  addPipeline(app, pipeline({ callers, ...limits, bodyLimit: openBodyLimit(), methods }))
  const on = features.filter(({ isOn }) => isOn?.(config.current()) ?? true)
  const plugins = await Promise.all(on.flatMap(({ routes = [] }) => routes.map((load) => load())))
  // TypeScript cannot know that each plugin expects the type provider of this app.
  for (const { default: plugin } of plugins) await app.register(plugin as FastifyPluginAsync)
  methods.complete()
  startUpkeep(app)
  await startMetrics(app)
  return app
}
