import type { FastifyPluginAsync } from 'fastify'
import applicationPages from './applications/page-routes.ts'
import applications from './applications/routes.ts'
import tokenPages from './applications/token-page-routes.ts'
import agents from './delegation/routes.ts'
import interactions from './interaction/routes.ts'
import protectedResources from './protected-resource-routes.ts'
import protocol from './protocol/routes.ts'
import statusLists from './status-lists/routes.ts'

/** The OAuth 2.0 and OpenID Connect server. */
const oauth: FastifyPluginAsync = async (app) => {
  const oauthServer = app.oauth
  await app.register(protocol)
  await app.register(interactions)
  await app.register(applications)
  await app.register(applicationPages)
  await app.register(tokenPages)
  await app.register(agents)
  await app.register(protectedResources)
  await app.register(statusLists, { statusLists: oauthServer.statusLists })
}

export default oauth
