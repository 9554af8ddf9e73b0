import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { notFound } from '../../../platform/errors.ts'
import { hasVersion } from '../../../platform/http/etag.ts'
import { Type } from '../../../platform/json-schema.ts'
import { listTtl, type StatusLists } from './status-lists.ts'

interface StatusListOptions {
  statusLists: StatusLists
}

const headers = { ETag: { type: 'string', description: 'Identifies this signed list.' } }

const mediaType = 'application/statuslist+jwt'

/** Number of a list, without other spellings. */
const listNumber = /^(?:0|[1-9]\d{0,5})$/

/** Status lists of access tokens, for APIs that verify JWTs themselves. */
const statusLists: FastifyPluginAsyncTypebox<StatusListOptions> = async (app, options) => {
  app.get(
    '/oauth/status/:list',
    {
      config: { access: { family: 'none' }, alsoAnswers: [404], needsDatabase: true },
      schema: {
        operationId: 'getStatusList',
        tags: ['OpenID Connect'],
        summary: 'Status list of access tokens (draft-ietf-oauth-status-list)',
        description: `A signed JWT with one bit for each access token of the list: 1 is revoked. The claim \`status\` of an access token names its list and its index. svc signs a new list every ${listTtl} seconds. 304 if it has the \`ETag\` of \`If-None-Match\`.`,
        params: Type.Object({ list: Type.String({ maxLength: 20, description: 'The number of the list.' }) }),
        response: {
          200: Type.Unsafe<string>({
            description: 'The signed list.',
            headers,
            content: {
              [mediaType]: { schema: { type: 'string', description: 'A JWT of the type `statuslist+jwt`.' } },
            },
          }),
          304: Type.Null({ description: 'The list has not changed.', headers }),
        },
      },
    },
    async (request, reply) => {
      const { list } = request.params
      const found = listNumber.test(list) ? await options.statusLists.find(Number(list)) : null
      if (!found) throw notFound()
      const { token, etag, maxAge } = found
      reply.headers({ etag, 'cache-control': `public, max-age=${maxAge}` })
      if (hasVersion(request, etag)) return reply.code(304).send(null)
      return reply.type(mediaType).send(token)
    },
  )
}

export default statusLists
