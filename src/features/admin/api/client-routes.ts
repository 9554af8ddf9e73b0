import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { notFound } from '../../../platform/errors.ts'
import { Type } from '../../../platform/json-schema.ts'
import { clientDetails, clientFacts } from '../../oauth/clients/client-facts.ts'
import { reads } from './request.ts'
import { AdminClient, ClientDetails } from './schemas.ts'

const tags = ['Administration']

/** The configured OAuth clients. They contain no data of users. */
const clients: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/admin/v1/clients',
    {
      config: reads,
      schema: {
        operationId: 'adminListClients',
        tags,
        summary: 'List the configured OAuth clients',
        description: 'In the order of the configuration, without secrets.',
        response: { 200: Type.Array(AdminClient) },
      },
    },
    async () => app.config.current().clients.map(clientFacts),
  )

  app.get(
    '/admin/v1/clients/:client_id',
    {
      config: { ...reads, alsoAnswers: [404] },
      schema: {
        operationId: 'adminGetClient',
        tags,
        summary: 'Show a configured OAuth client',
        description: 'All settings. `has_secret` tells whether there is a secret.',
        params: Type.Object({ client_id: Type.String({ maxLength: 255, description: 'The client_id.' }) }),
        response: { 200: ClientDetails },
      },
    },
    async (request) => {
      const { client_id } = request.params
      const client = app.config.current().clients.find((one) => one.client_id === client_id)
      if (!client) throw notFound('Client not found.')
      return clientDetails(client)
    },
  )
}

export default clients
