import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import clients from './clients/routes.ts'
import credentials from './credentials/routes.ts'
import events from './events/routes.ts'
import imports from './import/routes.ts'
import invitations from './invitations/routes.ts'
import keys from './keys/routes.ts'
import users from './users/routes.ts'

/** The admin API: the operations of the commands, over HTTP. */
const adminApi: FastifyPluginAsyncTypebox = async (app) => {
  await app.register(users)
  await app.register(imports)
  await app.register(invitations)
  await app.register(credentials)
  await app.register(events)
  await app.register(clients)
  await app.register(keys)
}

export default adminApi
