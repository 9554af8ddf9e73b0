import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { visitOf } from '../../../auth/access/visit.ts'
import { groupNames } from '../../../platform/config/sections/groups.ts'
import { idParameter, nullableText } from '../../../platform/http/fields.ts'
import { Type } from '../../../platform/json-schema.ts'
import {
  addMember,
  createGroup,
  deleteGroup,
  listGroups,
  listMembers,
  removeMember,
  showGroup,
} from '../groups/groups.ts'
import { adminOrigin, changes, idCursor, limitOf, pageQuery, reads, reasonField, recordRead } from './request.ts'
import { AdminGroup, AdminMember, pageOf } from './schemas.ts'
import { adminOf } from './still-administrator.ts'

const tags = ['Administration']

const name = Type.String({ pattern: groupNames.pattern, description: 'The name of the group.' })

const GroupParams = Type.Object({ name })

const MemberParams = Type.Object({ name, id: idParameter('The id of the user.', '^[1-9][0-9]{0,14}$') })

const CreateBody = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 100, description: `The name: ${groupNames.expected}.` }),
    description: nullableText('What the group is for.', { maxLength: 255 }),
    reason: reasonField,
  },
  { title: 'AdminCreateGroupRequest', additionalProperties: false },
)

/** Groups and their members. */
const groups: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/admin/v1/groups',
    {
      config: reads,
      schema: {
        operationId: 'adminListGroups',
        tags,
        summary: 'List groups',
        description: 'Those of the configuration and of the database, by name.',
        querystring: Type.Object({
          after: Type.Optional(
            Type.String({ pattern: groupNames.pattern, description: 'The `next` of the previous page.' }),
          ),
          ...pageQuery,
        }),
        response: { 200: pageOf(AdminGroup, 'AdminGroupPage') },
      },
    },
    async (request) => {
      const take = limitOf(request.query)
      const found = await listGroups(app, { after: request.query.after ?? '', take: take + 1 })
      const data = found.slice(0, take)
      return { data, next: found.length > take ? (data.at(-1)?.name ?? null) : null }
    },
  )

  app.post(
    '/admin/v1/groups',
    {
      config: changes,
      schema: {
        operationId: 'adminCreateGroup',
        tags,
        summary: 'Create a group',
        description: '422 if the name is taken, or is that of a role while `groups.include_role` is on.',
        body: CreateBody,
        response: { 201: AdminGroup },
      },
    },
    async (request, reply) => {
      const { name, description, reason } = request.body
      const origin = adminOrigin(request, reason)
      const created = await createGroup(adminOf(visitOf(request)), origin, { name, description: description || null })
      return reply.code(201).send(created)
    },
  )

  app.get(
    '/admin/v1/groups/:name',
    {
      config: { ...reads, alsoAnswers: [404] },
      schema: {
        operationId: 'adminGetGroup',
        tags,
        summary: 'Show a group',
        description: 'With the number of its members.',
        params: GroupParams,
        response: { 200: AdminGroup },
      },
    },
    (request) => showGroup(app, request.params.name),
  )

  app.delete(
    '/admin/v1/groups/:name',
    {
      config: { ...changes, alsoAnswers: [404, 422] },
      schema: {
        operationId: 'adminDeleteGroup',
        tags,
        summary: 'Delete a group, and take all users out of it',
        description: '422 for a group that the configuration declares. Give the reason in the header `Svc-Reason`.',
        params: GroupParams,
        response: { 204: Type.Null({ description: 'The group is deleted.' }) },
      },
    },
    async (request, reply) => {
      await deleteGroup(adminOf(visitOf(request)), adminOrigin(request), request.params.name)
      return reply.code(204).send(null)
    },
  )

  app.get(
    '/admin/v1/groups/:name/members',
    {
      config: { ...reads, alsoAnswers: [404] },
      schema: {
        operationId: 'adminListGroupMembers',
        tags,
        summary: 'List the members of a group',
        description: 'The order is by id. Records the event `admin_read`.',
        params: GroupParams,
        querystring: Type.Object({ after: idCursor, ...pageQuery }),
        response: { 200: pageOf(AdminMember, 'AdminGroupMemberPage') },
      },
    },
    async (request) => {
      const take = limitOf(request.query)
      const { name } = request.params
      const page = { after: Number(request.query.after ?? 0), take: take + 1 }
      const found = await listMembers(app, name, page)
      await recordRead(request, null, `group:${name}`)
      const data = found.slice(0, take)
      return { data, next: found.length > take ? String(data.at(-1)?.id) : null }
    },
  )

  app.put(
    '/admin/v1/groups/:name/members/:id',
    {
      config: { ...changes, alsoAnswers: [404, 422] },
      schema: {
        operationId: 'adminAddGroupMember',
        tags,
        summary: 'Add a user to a group',
        description: 'Also succeeds for a member. Give the reason in the header `Svc-Reason`.',
        params: MemberParams,
        response: { 204: Type.Null({ description: 'The user is in the group.' }) },
      },
    },
    async (request, reply) => {
      const { name, id } = request.params
      await addMember(adminOf(visitOf(request)), adminOrigin(request), name, Number(id))
      return reply.code(204).send(null)
    },
  )

  app.delete(
    '/admin/v1/groups/:name/members/:id',
    {
      config: { ...changes, alsoAnswers: [404] },
      schema: {
        operationId: 'adminRemoveGroupMember',
        tags,
        summary: 'Take a user out of a group',
        description:
          'Ends the membership whatever gave it. A provider that lists the group adds the user again at the next sign-in. Give the reason in the header `Svc-Reason`.',
        params: MemberParams,
        response: { 204: Type.Null({ description: 'The user is no longer in the group.' }) },
      },
    },
    async (request, reply) => {
      const { name, id } = request.params
      await removeMember(adminOf(visitOf(request)), adminOrigin(request), name, Number(id))
      return reply.code(204).send(null)
    },
  )
}

export default groups
