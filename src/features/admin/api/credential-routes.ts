import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { visitOf } from '../../../auth/access/visit.ts'
import { findUserById } from '../../../identity/users.ts'
import { notFound } from '../../../platform/errors.ts'
import { Type } from '../../../platform/json-schema.ts'
import { revokeSession, revokeToken, revokeTokensOf, sessionsOf, tokensOf } from '../credentials.ts'
import {
  adminOrigin,
  changes,
  idCursor,
  limitOf,
  pageQuery,
  reads,
  recordRead,
  UserParams,
  userIdOf,
} from './request.ts'
import { AdminSession, AdminToken, pageOf } from './schemas.ts'
import { adminOf } from './still-administrator.ts'

const tags = ['Administration']

const reason = 'Takes effect with the next request. Give the reason in the header `Svc-Reason`.'

const CredentialParams = Type.Object({ id: Type.String({ pattern: '^[\\w-]{1,64}$', description: 'The id.' }) })

/** Tokens and sessions of any user. */
const credentials: FastifyPluginAsyncTypebox = async (app) => {
  async function requireUserId(request: { params: { id: string } }): Promise<number> {
    const id = userIdOf(request)
    if (!(await findUserById(app.database, id))) throw notFound('User not found.')
    return id
  }

  app.get(
    '/admin/v1/users/:id/tokens',
    {
      config: { ...reads, alsoAnswers: [404] },
      schema: {
        operationId: 'adminListTokens',
        tags,
        summary: 'List the tokens of a user',
        description:
          'API tokens, the oldest first. The last page ends with the personal access tokens. Records the event `admin_read`.',
        params: UserParams,
        querystring: Type.Object({ after: idCursor, ...pageQuery }),
        response: { 200: pageOf(AdminToken, 'AdminTokenPage') },
      },
    },
    async (request) => {
      const userId = await requireUserId(request)
      await recordRead(request, userId, 'user')
      const page = { after: BigInt(request.query.after ?? 0), limit: limitOf(request.query), now: app.clock.now() }
      const { tokens, isLast } = await tokensOf(app, userId, page)
      return { data: tokens, next: isLast ? null : (tokens.at(-1)?.id ?? null) }
    },
  )

  app.get(
    '/admin/v1/users/:id/sessions',
    {
      config: { ...reads, alsoAnswers: [404] },
      schema: {
        operationId: 'adminListSessions',
        tags,
        summary: 'List the sessions and remembered browsers of a user',
        description: 'Records the event `admin_read`.',
        params: UserParams,
        response: { 200: Type.Array(AdminSession) },
      },
    },
    async (request) => {
      const userId = await requireUserId(request)
      await recordRead(request, userId, 'user')
      return sessionsOf(app, userId, app.clock.now())
    },
  )

  app.delete(
    '/admin/v1/users/:id/tokens',
    {
      config: { ...changes, alsoAnswers: [404] },
      schema: {
        operationId: 'adminRevokeTokens',
        tags,
        summary: 'Revoke all API tokens and personal access tokens of a user',
        description: reason,
        params: UserParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await revokeTokensOf(adminOf(visitOf(request)), adminOrigin(request), await requireUserId(request))
      return reply.code(204).send(null)
    },
  )

  app.delete(
    '/admin/v1/tokens/:id',
    {
      config: { ...changes, alsoAnswers: [404] },
      schema: {
        operationId: 'adminRevokeToken',
        tags,
        summary: 'Revoke an API token or a personal access token',
        description: reason,
        params: CredentialParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await revokeToken(adminOf(visitOf(request)), adminOrigin(request), request.params.id)
      return reply.code(204).send(null)
    },
  )

  app.delete(
    '/admin/v1/sessions/:id',
    {
      config: { ...changes, alsoAnswers: [404] },
      schema: {
        operationId: 'adminRevokeSession',
        tags,
        summary: 'End a session, or forget a remembered browser',
        description: reason,
        params: CredentialParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      await revokeSession(adminOf(visitOf(request)), adminOrigin(request), request.params.id)
      return reply.code(204).send(null)
    },
  )
}

export default credentials
