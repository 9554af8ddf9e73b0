import type { FastifyPluginAsync } from 'fastify'
import { ApiDescription, describedNow } from '../../auth/access/openapi.ts'

/** The description of this server, which `auth/access/openapi` makes from all routes. */
const apiDescription: FastifyPluginAsync = async (app) => {
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
}

export default apiDescription
