import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { createOnce, keyReused } from '../../../../auth/access/idempotency.ts'
import { visitOf } from '../../../../auth/access/visit.ts'
import { newAttributes } from '../../../../identity/attributes.ts'
import { fieldsField, givenNames } from '../../../../identity/chosen-names.ts'
import { changedFields } from '../../../../identity/fields.ts'
import { findUserById } from '../../../../identity/users.ts'
import { emailField, nullable, nullableText } from '../../../../platform/http/fields.ts'
import { requireNewPassword } from '../../../../platform/http/new-password.ts'
import { nameField } from '../../../../platform/http/validation.ts'
import { Type } from '../../../../platform/json-schema.ts'
import { lockForAdmin } from '../../admin.ts'
import { addUser } from '../../users.ts'
import { once, replayHeaders } from '../once.ts'
import { adminNameFields, adminOrigin, changes, groupsField, reasonField, recordRead } from '../request.ts'
import { AdminUser, adminView } from '../schemas.ts'
import { adminOf } from '../still-administrator.ts'
import { etagHeaders, etagOf } from '../versions.ts'

const tags = ['Administration']

const role = nullableText('The role. By default `registration.role`.', { maxLength: 255 })

const CreateBody = Type.Object(
  {
    email: emailField('The email address.'),
    name: Type.String({ ...nameField, description: 'The full name.' }),
    password: Type.Optional(
      nullable({
        ...Type.String({
          minLength: 1,
          maxLength: 4_096,
          description: 'By the rules of `passwords`. Without one, use a reset link.',
        }),
        type: 'string',
      }),
    ),
    role,
    groups: groupsField,
    ...adminNameFields,
    fields: fieldsField,
    verified: Type.Optional(Type.Boolean({ description: 'Whether the address counts as verified.' })),
    reason: reasonField,
  },
  { title: 'AdminCreateUserRequest', additionalProperties: false },
)

/** Creation of users. */
const creation: FastifyPluginAsyncTypebox = async (app) => {
  app.post(
    '/admin/v1/users',
    {
      config: changes,
      schema: {
        operationId: 'adminCreateUser',
        tags,
        summary: 'Create a user',
        description: `Sends no mail. Does not apply \`registration.allowed_domains\`. ${once}`,
        body: CreateBody,
        response: { 201: { ...AdminUser, headers: { ...etagHeaders, ...replayHeaders } } },
      },
    },
    async (request, reply) => {
      const { body } = request
      const { email, name, groups, verified = false } = body
      const lane = app.loginLimiter.laneOf(visitOf(request), email)
      if (body.password != null) requireNewPassword(body.password, app.config.current())
      const password = body.password == null ? null : await app.hashing.hash(body.password, lane)
      const { parts, ...named } = givenNames(body)
      const facts = {
        ...named,
        attributes: {
          ...newAttributes(parts),
          fields: changedFields(app.config.current(), {}, body.fields ?? {}, 'admin'),
        },
        email,
        name,
        password,
        verified,
        groups,
        role: body.role || app.config.current().registration.role,
      }
      const origin = adminOrigin(request, body.reason)
      const { id, isReplay } = await createOnce(request, async (tx) => {
        await lockForAdmin(adminOf(visitOf(request)), tx, [])
        return (await addUser(app, tx, origin, facts)).id
      })
      const found = await findUserById(app.database, id)
      if (!found) throw keyReused()
      // A replay returns the current record, so it is a read.
      if (isReplay) {
        await recordRead(request, id, 'users')
        reply.header('idempotent-replayed', 'true')
      }
      return reply.code(201).header('etag', etagOf(found.user)).send(adminView(found.user, app.config.current()))
    },
  )
}

export default creation
