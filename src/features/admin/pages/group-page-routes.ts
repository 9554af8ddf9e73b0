import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { visitOf } from '../../../auth/access/visit.ts'
import { findUserByEmail } from '../../../identity/users.ts'
import { type FormState, formOf, formPage, formRoute, pageRoute } from '../../../pages/form-page.ts'
import { textsOf } from '../../../pages/texts.ts'
import { groupNames } from '../../../platform/config/sections/groups.ts'
import { validationFailed } from '../../../platform/errors.ts'
import { idParameter, typedText, uncheckedText } from '../../../platform/http/fields.ts'
import { Type } from '../../../platform/json-schema.ts'
import { adminOrigin, recordRead } from '../api/request.ts'
import { adminOf } from '../api/still-administrator.ts'
import {
  addMember,
  createGroup,
  deleteGroup,
  listGroups,
  listMembers,
  removeMember,
  showGroup,
} from '../groups/groups.ts'
import { fieldOf, formBlockOf, pageOf, present, rowOf, rowsOf, take } from './blocks.ts'
import { adminSection, changed, cursorIn, ownPages, queryText, sendSection, userPath } from './section-hooks.ts'

const section = adminSection('groups')

const GroupParams = Type.Object({ name: Type.String({ pattern: groupNames.pattern }) })

type InGroup = FastifyRequest<{ Params: { name: string } }>

const pathOf = (name: string): string => `${section}/${encodeURIComponent(name)}`

/** Groups and their members. */
export async function groupPages(app: FastifyInstance): Promise<void> {
  async function list(request: FastifyRequest, reply: FastifyReply, state?: FormState) {
    const text = textsOf(request)
    const { after } = request.query as { after?: unknown }
    const sent = (request.body ?? {}) as Record<string, unknown>
    const found = await listGroups(app, { after: queryText(after), take })
    const { shown, nextHref } = pageOf(found, (last) => `${section}?${new URLSearchParams({ after: last.name })}`)
    return sendSection(
      reply,
      {
        title: text('admin.groups'),
        blocks: [
          rowsOf({
            name: 'groups',
            rows: shown.map(({ name, description, declared_in, members }) =>
              rowOf({
                title: name,
                href: pathOf(name),
                badges: declared_in === 'configuration' ? [text('admin.configuration')] : [],
                details: present([description, text('admin.members', { count: members })]),
              }),
            ),
            nextHref,
          }),
          formBlockOf({
            ...{ name: 'create', heading: text('admin.create_group'), action: section },
            submit: text('admin.create_group'),
            fields: [
              fieldOf({
                name: 'name',
                label: text('account-profile.name'),
                value: typedText(sent.name),
                isRequired: true,
              }),
              fieldOf({
                ...{ name: 'description', label: text('admin.description'), value: typedText(sent.description) },
                hint: text('fields.optional'),
              }),
            ],
          }),
        ],
      },
      state,
    )
  }

  pageRoute(app, {
    path: section,
    operation: 'AdminGroups',
    config: ownPages,
    query: Type.Object({ after: uncheckedText('The last group of the previous page.') }),
    summary: 'groups',
    description: 'Lists groups.',
    page: (request, reply) => list(request, reply),
  })

  formRoute(app, {
    path: section,
    operation: 'AdminGroupCreation',
    config: ownPages,
    summary: 'create a group',
    description: 'Creates a group in the database.',
    form: formOf('AdminGroupForm', { name: 'The name.', description: 'What it is for.' }),
    async send(request) {
      const [name = '', description = ''] = [request.body.name, request.body.description].map((value) =>
        typedText(value).trim(),
      )
      if (description.length > 255) {
        throw validationFailed({ description: ['The description field must not be greater than 255 characters.'] })
      }
      const group = { name, description: description || null }
      await createGroup(adminOf(visitOf(request)), adminOrigin(request), group)
      return changed(pathOf(name))
    },
    again: (request, reply, state) => list(request, reply, state),
  })

  async function group(request: InGroup, reply: FastifyReply, state?: FormState) {
    const text = textsOf(request)
    const { name } = request.params
    const { after } = request.query as { after?: unknown }
    const cursor = cursorIn(after)
    const { description, declared_in } = await showGroup(app, name)
    await recordRead(request, null, `group:${name}`)
    const found = await listMembers(app, name, { after: cursor, take })
    const { shown, nextHref } = pageOf(found, ({ id }) => `${pathOf(name)}?after=${id}`)
    const { email } = (request.body ?? {}) as Record<string, unknown>
    const deletion = { label: text('admin.delete_group'), href: `${pathOf(name)}/delete`, isDanger: true }
    return sendSection(
      reply,
      {
        title: name,
        lead: description,
        back: { label: text('admin.groups'), href: section },
        blocks: [
          rowsOf({
            name: 'members',
            rows: shown.map((member) =>
              rowOf({
                title: member.name,
                href: userPath(member.id),
                badges: member.sources,
                details: [member.email],
                action: {
                  action: `${pathOf(name)}/members/${member.id}/remove`,
                  label: text('admin.remove'),
                  name: text('admin.action_name', { action: text('admin.remove'), name: member.email }),
                },
              }),
            ),
            nextHref,
          }),
          formBlockOf({
            ...{ name: 'add', heading: text('admin.add_member'), action: pathOf(name) },
            submit: text('admin.add_member'),
            fields: [
              fieldOf({
                name: 'email',
                label: text('account-profile.email'),
                value: typedText(email),
                isRequired: true,
              }),
            ],
          }),
          ...(declared_in === 'configuration'
            ? []
            : [{ kind: 'links', heading: text('admin.actions'), links: [deletion] } as const]),
        ],
      },
      state,
    )
  }

  pageRoute(app, {
    path: `${section}/:name`,
    operation: 'AdminGroup',
    config: ownPages,
    params: GroupParams,
    query: Type.Object({ after: uncheckedText('The id of the last member of the previous page.') }),
    summary: 'a group',
    description: 'Lists the members of a group.',
    page: (request, reply) => group(request, reply),
  })

  formRoute(app, {
    path: `${section}/:name`,
    operation: 'AdminMember',
    config: ownPages,
    params: GroupParams,
    summary: 'add a member',
    description: 'Adds a user to the group.',
    form: formOf('AdminMemberForm', { email: 'The address of the user.' }),
    async send(request) {
      const { name } = request.params
      const found = await findUserByEmail(app.database, typedText(request.body.email).trim())
      if (!found) throw validationFailed({ email: ["We can't find a user with that email address."] })
      await addMember(adminOf(visitOf(request)), adminOrigin(request), name, found.user.id)
      return changed(pathOf(name))
    },
    again: (request, reply, state) => group(request, reply, state),
  })

  formRoute(app, {
    path: `${section}/:name/members/:id/remove`,
    operation: 'AdminMemberRemoval',
    config: ownPages,
    params: Type.Object({ ...GroupParams.properties, id: idParameter('The id of the user.', '^[1-9][0-9]{0,14}$') }),
    summary: 'remove a member',
    description: 'Takes a user out of the group.',
    async send(request) {
      const { name, id } = request.params
      await removeMember(adminOf(visitOf(request)), adminOrigin(request), name, Number(id))
      return changed(pathOf(name))
    },
  })

  formPage(app, {
    path: `${section}/:name/delete`,
    operation: 'AdminGroupDeletion',
    config: ownPages,
    params: GroupParams,
    show: {
      summary: 'delete a group',
      description: 'Asks before the deletion.',
      async page(request, reply) {
        const text = textsOf(request)
        const { name } = request.params
        await showGroup(app, name)
        const submit = text('admin.delete_group')
        return sendSection(reply, {
          title: submit,
          lead: text('admin.about_delete_group'),
          back: { label: name, href: pathOf(name) },
          blocks: [
            formBlockOf({ name: 'change', action: request.url, submit, isDanger: true, backHref: pathOf(name) }),
          ],
        })
      },
    },
    submit: {
      summary: 'delete a group',
      description: 'Takes all users out of it.',
      async send(request) {
        await deleteGroup(adminOf(visitOf(request)), adminOrigin(request), request.params.name)
        return changed(section)
      },
    },
  })
}
