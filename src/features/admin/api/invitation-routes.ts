import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { createOnce, keyReused } from '../../../auth/access/idempotency.ts'
import { visitOf } from '../../../auth/access/visit.ts'
import { findInvitationById, invite, listInvitations, revokeInvitation } from '../../../identity/invitations.ts'
import { notFound } from '../../../platform/errors.ts'
import { emailField, idParameter, nullable, nullableText } from '../../../platform/http/fields.ts'
import { nameField } from '../../../platform/http/validation.ts'
import { Type } from '../../../platform/json-schema.ts'
import { lockForAdmin } from '../admin.ts'
import { addressTaken } from '../users.ts'
import { once, replayHeaders } from './once.ts'
import {
  adminOrigin,
  changes,
  groupsField,
  idCursor,
  limitOf,
  pageQuery,
  reads,
  reasonField,
  recordRead,
} from './request.ts'
import { Invitation, pageOf } from './schemas.ts'
import { adminOf } from './still-administrator.ts'

const tags = ['Administration']

const role = nullableText('The role. By default `registration.role`.', { maxLength: 255 })

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
    groups: groupsField,
    reason: reasonField,
  },
  { title: 'AdminInviteRequest', additionalProperties: false },
)

/** Invitations: list, send and revoke. */
const invitations: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/admin/v1/invitations',
    {
      config: reads,
      schema: {
        operationId: 'adminListInvitations',
        tags,
        summary: 'List invitations',
        description: 'Those that have not been accepted or expired, oldest first.',
        querystring: Type.Object({ after: idCursor, ...pageQuery }),
        response: { 200: pageOf(Invitation, 'AdminInvitationPage') },
      },
    },
    async (request) => {
      const limit = limitOf(request.query)
      const page = { after: Number(request.query.after ?? 0), take: limit + 1, now: app.clock.now() }
      const found = await listInvitations(app.database, page)
      const data = found.slice(0, limit)
      await recordRead(request, null, 'invitations')
      return { data, next: found.length > limit ? String(data.at(-1)?.id) : null }
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
      const { email, name, role, groups = [], reason } = request.body
      const asked = { email, name: name ?? null, groups, role: role || app.config.current().registration.role }
      const origin = adminOrigin(request, reason)
      const { id, isReplay } = await createOnce(request, async (tx) => {
        await lockForAdmin(adminOf(visitOf(request)), tx, [])
        const invitation = await invite(app, tx, origin, asked)
        if (!invitation) throw await addressTaken(tx, email, origin.now)
        return invitation.id
      })
      const invitation = await findInvitationById(app.database, id)
      if (!invitation) throw keyReused()
      if (isReplay) {
        await recordRead(request, null, `invitation:${id}`)
        reply.header('idempotent-replayed', 'true')
      }
      return reply.code(201).send(invitation)
    },
  )

  app.delete(
    '/admin/v1/invitations/:id',
    {
      config: changes,
      schema: {
        operationId: 'adminRevokeInvitation',
        tags,
        summary: 'Revoke an invitation',
        description: 'Its link stops working. Give the reason in the header `Svc-Reason`.',
        params: Type.Object({ id: idParameter('The id of the invitation.', '^[1-9][0-9]{0,14}$') }),
        response: { 204: Type.Null({ description: 'The invitation is revoked.' }) },
      },
    },
    async (request, reply) => {
      const id = Number(request.params.id)
      const origin = adminOrigin(request)
      const isRevoked = await app.database.transaction(async (tx) => {
        await lockForAdmin(adminOf(visitOf(request)), tx, [])
        return revokeInvitation(tx, origin, { id })
      })
      if (!isRevoked) throw notFound('Invitation not found.')
      return reply.code(204).send(null)
    },
  )
}

export default invitations
