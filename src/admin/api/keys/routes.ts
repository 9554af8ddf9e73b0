import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { listedKeys } from '../../../features/oauth/keys/manage.ts'
import { reads } from '../request.ts'
import { AdminKey } from '../schemas.ts'

const tags = ['Administration']

/** The signing keys. */
const keys: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/admin/v1/keys',
    {
      config: reads,
      schema: {
        operationId: 'adminListKeys',
        tags,
        summary: 'List the signing keys',
        description: 'In the order in which they sign, without their private parts.',
        response: { 200: Type.Array(AdminKey) },
      },
    },
    async () => listedKeys(app, app.clock.now()),
  )
}

export default keys
