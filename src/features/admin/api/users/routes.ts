import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { fieldFilter } from '../../../../identity/fields.ts'
import { searchUsers, userStates } from '../../../../identity/search.ts'
import type { User } from '../../../../identity/user.ts'
import { findUserById } from '../../../../identity/users.ts'
import { notFound } from '../../../../platform/errors.ts'
import { Type } from '../../../../platform/json-schema.ts'
import { userDetails } from '../../user-details.ts'
import { filterText, idCursor, limitOf, pageQuery, reads, recordRead, UserParams, userIdOf } from '../request.ts'
import { AdminUser, adminView, pageOf, UserDetails } from '../schemas.ts'
import { etagHeaders, etagOf } from '../versions.ts'
import userChanges from './change-routes.ts'
import creation from './creation-routes.ts'

const tags = ['Administration']

const FindQuery = Type.Object({
  text: filterText('The start of the address or of the name.'),
  inside: Type.Optional(
    Type.Unsafe<'true' | 'false'>({
      type: 'string',
      enum: ['true', 'false'],
      description: 'Whether to find `text` anywhere in addresses and names. Reads all users, so it is slow for many.',
    }),
  ),
  email: filterText('Only the user with this address.'),
  provider: filterText('Only users with a linked account at this provider.'),
  role: filterText('Only users with this role.'),
  group: filterText('Only users in this group.'),
  field: filterText('Only users with this value of a field in `users.fields`, such as `team:Sales`. Reads all users.'),
  state: Type.Optional(
    Type.Unsafe<(typeof userStates)[number]>({
      type: 'string',
      enum: [...userStates],
      description: 'Only users in this state.',
    }),
  ),
  after: idCursor,
  ...pageQuery,
})

/** Users: search, details and changes. */
const users: FastifyPluginAsyncTypebox = async (app) => {
  await app.register(creation)
  await app.register(userChanges)

  /** Returns the user that the path names. Throws 404 for an unknown one. */
  async function requireTarget(request: FastifyRequest & { params: { id: string } }): Promise<User> {
    const found = await findUserById(app.database, userIdOf(request))
    if (!found) throw notFound('User not found.')
    return found.user
  }

  app.get(
    '/admin/v1/users',
    {
      config: reads,
      schema: {
        operationId: 'adminFindUsers',
        tags,
        summary: 'Find users',
        description:
          'All filters apply. The order is by id. `text` compares without regard to case (on SQLite only for ASCII letters in names). Records the event `admin_read`.',
        querystring: FindQuery,
        response: { 200: pageOf(AdminUser, 'AdminUserPage') },
      },
    },
    async (request) => {
      const { after = '0', limit: _, inside, field, ...filter } = request.query
      const take = limitOf(request.query)
      await recordRead(request, null, 'users')
      const given = {
        ...filter,
        ...(field === undefined ? {} : { field: fieldFilter(app.config.current(), field) }),
        ...(inside === 'true' ? { isInside: true } : {}),
      }
      const found = await searchUsers(app.database, given, { after: Number(after), take: take + 1 })
      const data = found.slice(0, take).map((user) => adminView(user, app.config.current()))
      return { data, next: found.length > take ? String(data.at(-1)?.id) : null }
    },
  )

  app.get(
    '/admin/v1/users/:id',
    {
      config: { ...reads, alsoAnswers: [404] },
      schema: {
        operationId: 'adminGetUser',
        tags,
        summary: 'Show a user',
        description: 'The header `ETag` identifies the version, for `If-Match`. Records the event `admin_read`.',
        params: UserParams,
        response: { 200: { ...AdminUser, headers: etagHeaders } },
      },
    },
    async (request, reply) => {
      const user = await requireTarget(request)
      await recordRead(request, user.id, 'user')
      reply.header('etag', etagOf(user))
      return adminView(user, app.config.current())
    },
  )

  app.get(
    '/admin/v1/users/:id/details',
    {
      config: { ...reads, alsoAnswers: [404] },
      schema: {
        operationId: 'adminGetUserDetails',
        tags,
        summary: 'Show a user with credentials, sessions, tokens, linked accounts and recent events',
        description: 'At most 20 records of each kind, without secrets. Records the event `admin_read`.',
        params: UserParams,
        response: { 200: UserDetails },
      },
    },
    async (request) => {
      const user = await requireTarget(request)
      await recordRead(request, user.id, 'user')
      return adminView(await userDetails(app, user, app.clock.now()), app.config.current())
    },
  )
}

export default users
