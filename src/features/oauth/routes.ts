import type { FastifyPluginAsync } from 'fastify'
import { startSchedule } from '../../platform/jobs/schedule.ts'
import applicationPages from './applications/page-routes.ts'
import applications from './applications/routes.ts'
import { deleteExpiredPersonalTokens } from './applications/store.ts'
import tokenPages from './applications/token-page-routes.ts'
import interactions from './interaction/routes.ts'
import protectedResources from './protected-resource-routes.ts'
import type { OAuthServer } from './protocol/oauth-server.ts'
import protocol from './protocol/routes.ts'
import statusLists from './status-lists/routes.ts'

interface OauthOptions {
  oauthServer: OAuthServer
}

/** The OAuth 2.0 and OpenID Connect server. */
const oauth: FastifyPluginAsync<OauthOptions> = async (app, { oauthServer }) => {
  await app.register(protocol, { oauthServer })
  await app.register(interactions, { oauthServer })
  await app.register(applications, { oauthServer })
  await app.register(applicationPages, { oauthServer })
  await app.register(tokenPages, { oauthServer })
  await app.register(protectedResources)
  await app.register(statusLists, { statusLists: oauthServer.statusLists })
  const run = async () => {
    await oauthServer.prune()
    await oauthServer.statusLists.prune()
    await oauthServer.resealRecords()
    await deleteExpiredPersonalTokens(app.database, app.clock.now())
  }
  startSchedule(app, [{ name: 'prune-oauth', every: 3_600_000, run }])
}

export default oauth
