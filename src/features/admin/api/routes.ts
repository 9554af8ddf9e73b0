import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import clients from './client-routes.ts'
import credentials from './credential-routes.ts'
import events from './event-routes.ts'
import groups from './group-routes.ts'
import imports from './import-routes.ts'
import invitations from './invitation-routes.ts'
import keys from './key-routes.ts'
import users from './users/routes.ts'

/** The admin API: the operations of the commands, over HTTP. */
const adminApi: FastifyPluginAsyncTypebox = async (app) => {
  await app.register(users)
  await app.register(groups)
  await app.register(imports)
  await app.register(invitations)
  await app.register(credentials)
  await app.register(events)
  await app.register(clients)
  await app.register(keys)
}

export default adminApi
