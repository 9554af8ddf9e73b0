import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { visitOf } from '../../../auth/access/visit.ts'
import { wireDate } from '../../../identity/wire-date.ts'
import { notFound, validationFailed } from '../../../platform/errors.ts'
import { Type } from '../../../platform/json-schema.ts'
import { block, hostOfText, unblock } from '../../oauth/client-documents/blocks.ts'
import { listBlockedHosts } from '../../oauth/client-documents/store.ts'
import { findClient, listClients } from '../../oauth/clients/client-facts.ts'
import { adminOrigin, changes, reads, reasonField } from './request.ts'
import { AdminClient, BlockedHost, ClientDetails } from './schemas.ts'
import { databaseOf } from './still-administrator.ts'

const tags = ['Administration']

const BlockHostBody = Type.Object(
  {
    host: Type.String({
      minLength: 1,
      maxLength: 255,
      examples: ['app.example.com'],
      description: 'The host without a port, or the client_id of one of its clients.',
    }),
    reason: reasonField,
  },
  { title: 'AdminBlockHostRequest', additionalProperties: false },
)

/** The OAuth clients, and the hosts whose unregistered clients svc refuses. They contain no data of users. */
const clients: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/admin/v1/clients',
    {
      config: reads,
      schema: {
        operationId: 'adminListClients',
        tags,
        summary: 'List the OAuth clients',
        description:
          'Those of the configuration in its order, then the unregistered clients that got tokens, at most 1,000 of them and the latest first. Without secrets.',
        response: { 200: Type.Array(AdminClient) },
      },
    },
    async () => listClients(app),
  )

  app.get(
    '/admin/v1/clients/:client_id',
    {
      config: { ...reads, alsoAnswers: [404] },
      schema: {
        operationId: 'adminGetClient',
        tags,
        summary: 'Show an OAuth client',
        description: 'All settings. `has_secret` tells whether there is a secret.',
        params: Type.Object({ client_id: Type.String({ maxLength: 255, description: 'The client_id.' }) }),
        response: { 200: ClientDetails },
      },
    },
    async (request) => {
      const client = await findClient(app, request.params.client_id)
      if (!client) throw notFound('Client not found.')
      return client
    },
  )

  app.get(
    '/admin/v1/blocked-client-hosts',
    {
      config: reads,
      schema: {
        operationId: 'adminListBlockedHosts',
        tags,
        summary: 'List the hosts whose unregistered clients are blocked',
        description: 'Without those of `oauth.client_id_metadata.blocked_hosts` in the configuration.',
        response: { 200: Type.Array(BlockedHost) },
      },
    },
    async () => {
      const hosts = await listBlockedHosts(app.database)
      return hosts.map(({ host, createdAt }) => ({ host, blocked_at: wireDate(createdAt) }))
    },
  )

  app.post(
    '/admin/v1/blocked-client-hosts',
    {
      config: changes,
      schema: {
        operationId: 'adminBlockHost',
        tags,
        summary: 'Block the unregistered clients of a host',
        description:
          'svc refuses the clients of the host and of its subdomains, and no longer accepts their tokens. APIs that verify tokens themselves accept those until they expire. Changes nothing if the host is blocked already.',
        body: BlockHostBody,
        response: { 204: Type.Null({ description: 'The host is blocked.' }) },
      },
    },
    async (request, reply) => {
      const { host: text, reason } = request.body
      const host = hostOfText(text)
      if (host === null) {
        throw validationFailed({ host: ['The host must be a name such as app.example.com, without a port.'] })
      }
      await block(databaseOf(visitOf(request)), adminOrigin(request, reason), host)
      return reply.code(204).send(null)
    },
  )

  app.delete(
    '/admin/v1/blocked-client-hosts/:host',
    {
      config: { ...changes, alsoAnswers: [404] },
      schema: {
        operationId: 'adminUnblockHost',
        tags,
        summary: 'Unblock the unregistered clients of a host',
        description: 'Tokens of its clients work again unless they have expired.',
        params: Type.Object({ host: Type.String({ maxLength: 253, description: 'The blocked host.' }) }),
        response: { 204: Type.Null({ description: 'The host is no longer blocked.' }) },
      },
    },
    async (request, reply) => {
      const host = hostOfText(request.params.host)
      const isDone = host !== null && (await unblock(databaseOf(visitOf(request)), adminOrigin(request), host))
      if (!isDone) throw notFound('This host is not blocked.')
      return reply.code(204).send(null)
    },
  )
}

export default clients
