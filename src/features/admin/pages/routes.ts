import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { pageRoute } from '../../../pages/form-page.ts'
import { adminPage } from '../../../pages/links.ts'
import { clientPages, configurationPages, providerPages } from './configured-page-routes.ts'
import { eventPages } from './event-page-routes.ts'
import { groupPages } from './group-page-routes.ts'
import { guardPages } from './guard-page-routes.ts'
import { invitationPages } from './invitation-page-routes.ts'
import { addAdminPages, ownPages, type SectionName } from './section-hooks.ts'
import { deliveryPages, keyPages } from './server-page-routes.ts'
import { userPages } from './user-page-routes.ts'

const sections: Readonly<Record<SectionName, (app: FastifyInstance) => Promise<void>>> = {
  users: userPages,
  invitations: invitationPages,
  groups: groupPages,
  events: eventPages,
  clients: clientPages,
  providers: providerPages,
  guard: guardPages,
  keys: keyPages,
  deliveries: deliveryPages,
  configuration: configurationPages,
}

/** Pages for administrators: the operations of the admin API, in a browser. */
const adminPages: FastifyPluginAsync = async (app) => {
  await app.register(async (scope) => {
    await addAdminPages(scope, null)
    pageRoute(scope, {
      path: adminPage,
      operation: 'Admin',
      config: ownPages,
      summary: 'administration',
      description: 'Lists the sections.',
      page: (_request, reply) => reply.page('admin', {}),
    })
  })
  for (const [name, add] of Object.entries(sections) as [SectionName, (typeof sections)[SectionName]][]) {
    await app.register(async (scope) => {
      await addAdminPages(scope, name)
      await add(scope)
    })
  }
}

export default adminPages
