import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { notFound } from '../../../errors.ts'
import { findUserById } from '../../../users/users.ts'
import { sessionsOf, tokensOf } from '../../credentials.ts'
import { idCursor, limitOf, pageQuery, reads, recordRead, UserParams, userIdOf } from '../request.ts'
import { AdminSession, AdminToken, pageOf } from '../schemas.ts'

const tags = ['Administration']

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
}

export default credentials
