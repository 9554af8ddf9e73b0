import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { createOnce, keyReused } from '../../../../access/idempotency.ts'
import { validationFailed } from '../../../../errors.ts'
import { emailField, nullable, nullableText } from '../../../../http/fields.ts'
import { nameField } from '../../../../http/validation.ts'
import { Type } from '../../../../json-schema.ts'
import { findInvitationById, invite } from '../../../../users/invitations.ts'
import { findUserById } from '../../../../users/users.ts'
import { lockForAdmin } from '../../../admin.ts'
import { addUser } from '../../../users.ts'
import { adminOrigin, changes, reasonField } from '../../request.ts'
import { AdminUser, Invitation } from '../../schemas.ts'
import { adminOf } from '../../still-administrator.ts'
import { etagHeaders, etagOf } from '../../versions.ts'

const tags = ['Administration']

const role = nullableText('The role. By default `registration.role`.', { maxLength: 255 })

const CreateBody = Type.Object(
  {
    email: emailField('The email address.'),
    name: Type.String({ ...nameField, description: 'The full name.' }),
    password: Type.Optional(
      nullable({
        ...Type.String({ minLength: 1, maxLength: 4_096, description: 'Any password. Without one, use a reset link.' }),
        type: 'string',
      }),
    ),
    role,
    verified: Type.Optional(Type.Boolean({ description: 'Whether the address counts as verified.' })),
    reason: reasonField,
  },
  { title: 'AdminCreateUserRequest', additionalProperties: false },
)

const InviteBody = Type.Object(
  {
    email: emailField('The email address.'),
    name: Type.Optional(
      nullable({
        ...Type.String({ ...nameField, description: 'The name. By default the person chooses it.' }),
        type: 'string',
      }),
    ),
    role,
    reason: reasonField,
  },
  { title: 'AdminInviteRequest', additionalProperties: false },
)

const once =
  'A request with the same `Idempotency-Key` and body within 24 hours returns the record of the first one, with the header `Idempotent-Replayed`.'

const replayHeaders = {
  'Idempotent-Replayed': { type: 'string', description: '`true` if an earlier request created the record.' },
}

/** Creation and invitation of users. */
const creation: FastifyPluginAsyncTypebox = async (app) => {
  app.post(
    '/admin/v1/users',
    {
      config: changes,
      schema: {
        operationId: 'adminCreateUser',
        tags,
        summary: 'Create a user',
        description: `Sends no mail. Does not apply \`registration.allowed_domains\` and the rules of passwords. ${once}`,
        body: CreateBody,
        response: { 201: { ...AdminUser, headers: { ...etagHeaders, ...replayHeaders } } },
      },
    },
    async (request, reply) => {
      const { body } = request
      const { email, name, verified = false } = body
      const lane = app.loginLimiter.laneOf(request, email)
      const password = body.password == null ? null : await app.hashing.hash(body.password, lane)
      const facts = { email, name, password, verified, role: body.role || app.config.current().registration.role }
      const origin = adminOrigin(request, body.reason)
      const { id, isReplay } = await createOnce(request, async (tx) => {
        await lockForAdmin(adminOf(request), tx, [])
        return (await addUser(tx, origin, facts)).id
      })
      const found = await findUserById(app.database, id)
      if (!found) throw keyReused()
      if (isReplay) reply.header('idempotent-replayed', 'true')
      return reply.code(201).header('etag', etagOf(found.user)).send(found.user)
    },
  )

  app.post(
    '/admin/v1/invitations',
    {
      config: changes,
      schema: {
        operationId: 'adminInviteUser',
        tags,
        summary: 'Invite a person to create an account',
        description: `Mails a link that works once, for \`invitations.ttl\`. It replaces an earlier invitation of the address. ${once}`,
        body: InviteBody,
        response: { 201: { ...Invitation, headers: replayHeaders } },
      },
    },
    async (request, reply) => {
      const { email, name, role, reason } = request.body
      const asked = { email, name: name ?? null, role: role || app.config.current().registration.role }
      const origin = adminOrigin(request, reason)
      const { id, isReplay } = await createOnce(request, async (tx) => {
        await lockForAdmin(adminOf(request), tx, [])
        const invitation = await invite(app, tx, origin, asked)
        if (!invitation) throw validationFailed({ email: ['The email has already been taken.'] })
        return invitation.id
      })
      const invitation = await findInvitationById(app.database, id)
      if (!invitation) throw keyReused()
      if (isReplay) reply.header('idempotent-replayed', 'true')
      return reply.code(201).send(invitation)
    },
  )
}

export default creation
